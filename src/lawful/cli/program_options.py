"""Commands that run a program in this process: their command line, the settings it leads to, and the laws."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from lawful import config
from lawful.cli.options import HeadedCommand, options, repeatable, set_option
from lawful.cli.protected_output import notify
from lawful.cli.trace_input import keep
from lawful.config import find_project
from lawful.engine.watch_settings import WatchSettings
from lawful.errors import LawfulError
from lawful.run_setup import watch_settings
from lawful.sources.python import launcher

if TYPE_CHECKING:
    from lawful.engine.session import Session

_MODULE = "lawful.module"


class ProgramCommand(HeadedCommand):
    """Takes its own options up to the program's name; all words that follow are the program's."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ours, program, ctx.meta[_MODULE] = self._split(args)
        return super().parse_args(ctx, [*ours, "--", *program])

    def _split(self, words: list[str]) -> tuple[list[str], list[str], bool]:
        """Our options, the program's words, and whether the first of these is a module."""
        known = [param for param in self.params if isinstance(param, click.Option)]
        # An optional value follows `=`: the next word may be the program.
        alone = {name: option.flag_value for option in known if _has_optional_value(option) for name in option.opts}
        with_value = {name for option in known if not option.is_flag for name in option.opts} - set(alone)
        words = list(words)
        at = 0
        while at < len(words):
            word = words[at]
            if word in alone:
                word = words[at] = f"{word}={alone[word]}"
            if word == "--":
                return words[:at], words[at + 1 :], False
            if word.startswith("-m"):
                rest = words[at + 1 :]
                return words[:at], [word[2:], *rest] if word != "-m" else rest, True
            if not word.startswith("-") or word == "-":
                return words[:at], words[at:], False
            at += 2 if word in with_value else 1
        return words, [], False

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        formatter.write_usage(ctx.command_path, "[OPTIONS] SCRIPT|-m MODULE [ARGUMENTS]")


def _has_optional_value(option: click.Option) -> bool:
    return not option.is_flag and isinstance(option.flag_value, str)


scope_options = options(
    repeatable("--calls", "PKG", "Watch the calls that your code makes into this package."),
    repeatable("--public", "PKG", "Watch the public functions and methods of this package."),
    repeatable("--exclude", "PATTERN", "Do not watch names or files that match PATTERN."),
    set_option,
)
"""What to watch, and how."""


def find_program(ctx: click.Context, words: Sequence[str]) -> launcher.LaunchedProgram:
    """The program that the command line names."""
    if not words:
        hint = f"{ctx.command_path} [OPTIONS] SCRIPT [ARGUMENTS], or -m MODULE [ARGUMENTS]"
        raise LawfulError("usage", "there is no program to run", hint=hint)
    return launcher.module(words) if ctx.meta[_MODULE] else launcher.script(words)


def combined_settings(program: launcher.LaunchedProgram, given: config.Config) -> tuple[config.Config, WatchSettings]:
    """The project's configuration and the options together, and the settings they lead to."""
    project = find_project(program.folder)
    both = config.combined(config.load(str(project)), given)
    if both.trace is not None:
        keep([*program.files, *both.laws, *both.functions, both.learn.store, both.sampling.store], both.trace, "trace")
    return both, watch_settings(both, project, main=program.name)


def warn_before_run(session: Session, both: config.Config) -> None:
    """What the user should know before the program runs."""
    core = session.core
    if core.name == "python" and not (both.core or os.environ.get("LAWFUL_CORE")):
        reasons = "; ".join(f"{name}: {reason}" for name, reason in core.refusals)
        notify(f"watching with the slow core, in pure Python ({reasons})")
    if session.setup.messages is not None:
        from lawful.sources.actors.message_specs import misnamed, unbound

        for text in misnamed(session.laws, dict(session.settings.groups)):
            notify(text)
        for text in unbound(session.laws, dict(session.settings.groups)):
            notify(
                f"{text}: Lawful sees only the messages that it emits by lawful.emit; say what the group is in the"
                " view, or with --set groups.NAME=class:app.Worker"
            )
    scope = session.settings.scope
    if scope.calls or scope.public or scope.fields:
        return
    for law in session.setup.watched.unnamed:
        notify(f"{law.name} matches events of any name; say what to watch with --calls, --public or --set fields=CLASS")

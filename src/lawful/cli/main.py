"""The command ``lawful``: finds the subcommand, runs it, and turns whatever happens into an exit code."""

from __future__ import annotations

import importlib
import io
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

import click
from click.shell_completion import CompletionItem, shell_complete

from lawful import __version__
from lawful.errors import LawfulError

PROGRAM = "lawful"
COMPLETE_VARIABLE = "_LAWFUL_COMPLETE"

EXIT_BAD = 2
EXIT_INTERRUPTED = 130  # 128 + SIGINT, what a shell reports
EXIT_BROKEN_PIPE = 141  # 128 + SIGPIPE


class CommandEntry(NamedTuple):
    """One line of the table of commands."""

    name: str
    module: str
    help: str


# Here and not in the modules, so that `lawful --help` and shell completion import none of them.
COMMANDS = (
    CommandEntry("run", "lawful.cli.run", "Run a program, check laws, and learn rules."),
    CommandEntry("record", "lawful.cli.record", "Run a program and write its trace."),
    CommandEntry("check", "lawful.cli.check", "Check recorded or live traces against laws."),
    CommandEntry("learn", "lawful.cli.learn", "Learn rules from traces, and report what breaks them."),
    CommandEntry("locality", "lawful.cli.locality", "Measure how near the events of one object are."),
    CommandEntry("confidence", "lawful.cli.confidence", "Compute samples, confidence or error rate from the others."),
    CommandEntry("explain", "lawful.cli.explain", "Show all the ways in which a program fails."),
    CommandEntry("diff", "lawful.cli.diff", "Show what two versions of a program do differently."),
    CommandEntry("merge", "lawful.cli.merge", "Show what a merge does that its branches do not."),
    CommandEntry("trace", "lawful.cli.trace", "Look at a trace file, or convert it."),
    CommandEntry("serve", "lawful.cli.serve", "Show a finished run in a browser."),
    CommandEntry("oracle", "lawful.cli.oracle", "Answer events of any program with verdicts, over the network."),
    CommandEntry("baseline", "lawful.cli.baseline", "Record which findings are known."),
    CommandEntry("laws", "lawful.cli.laws", "List, show, test, begin, explain and draw laws."),
    CommandEntry("completion", "lawful.cli.completion", "Print the completion script for a shell."),
)


# These run a program in this process. Its streams stay untouched, and it starts after the command line is parsed.
PROGRAM_COMMANDS = frozenset(("run", "record"))


def runs_program(words: Sequence[str]) -> bool:
    """Does a command line run a program in this process, directly or to write a baseline?"""
    return bool(PROGRAM_COMMANDS.intersection(words[2:3] if words[:2] == ["baseline", "update"] else words[:1]))


class LazyGroup(click.Group):
    """A group that imports a subcommand's module, and its ``command``, when that subcommand is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [entry.name for entry in COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        for entry in COMMANDS:
            if entry.name == cmd_name:
                command: click.Command = importlib.import_module(entry.module).command
                return command
        return None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as error:
            # click looks for similar names among the commands it has loaded, and it has not loaded any.
            raise click.NoSuchCommand(error.command_name, possibilities=self.list_commands(ctx), ctx=ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(entry.name, entry.help) for entry in COMMANDS])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        commands = [CompletionItem(e.name, help=e.help) for e in COMMANDS if e.name.startswith(incomplete)]
        return commands + click.Command.shell_complete(self, ctx, incomplete)


def _version(ctx: click.Context, param: click.Parameter, asked: bool) -> None:
    if asked and not ctx.resilient_parsing:
        import platform  # slow to import, and needed for this alone

        from lawful import core

        python = f"{platform.python_implementation()} {platform.python_version()}"
        click.echo(f"{PROGRAM} {__version__} ({core.describe()}, {python})")
        ctx.exit()


_EXAMPLES = """
\b
Examples:
  lawful run --law files.rml app.py
  lawful check hash_set.rml --trace run.jsonl
  lawful trace info run.jsonl.zst
  lawful laws explain hash_set.rml

\b
Exit code: 0, nothing found; 1, a law was broken; 2, bad usage or bad input.
`lawful COMMAND --help` shows the options of a command.
"""


@click.group(cls=LazyGroup, name=PROGRAM, epilog=_EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_version,
    help="Show the version and the core.",
)
def cli() -> None:
    """Check what programs do against laws you can read.

    A law says which sequences of events may happen; a trace is what did happen. Lawful says whether the one obeys
    the other, and if not: where, and why.
    """


def main(args: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit code; errors are printed."""
    words = sys.argv[1:] if args is None else args
    if not runs_program(words):
        _replace_closed_streams()
        _escape_unencodable()
    answer = _run_to_exit_code(words)
    if not isinstance(answer, int):
        return answer()
    if answer == EXIT_INTERRUPTED and runs_program(words):
        _kill_by_sigint()
    _flush_streams()
    return answer


def _kill_by_sigint() -> None:
    """End as an interrupted program does, so that a shell script stops, too."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGINT)


def _run_to_exit_code(args: Sequence[str]) -> int | Callable[[], int]:
    try:
        code = _run(args)
        if isinstance(code, int):
            sys.stdout.flush()
    except (KeyboardInterrupt, click.Abort):
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        return EXIT_BROKEN_PIPE
    except click.exceptions.NoArgsIsHelpError as error:
        return _print_error(error.format_message())
    except click.ClickException as error:
        return _print_error(_usage(error).render())
    except LawfulError as error:
        return _print_error(error.render())
    except OSError as error:
        if error.errno is None:  # not from the operating system
            return _print_error(_internal(error))
        # Files that are opened here have a name: what has none is standard output.
        where = "<stdout>" if error.filename is None else str(error.filename)
        return _print_error(LawfulError("file", error.strerror or str(error), where=where).render())
    except Exception as error:
        return _print_error(_internal(error))
    return code


def _run(args: Sequence[str]) -> int | Callable[[], int]:
    """A subcommand returns its exit code, None for 0, or a function to call after click has finished."""
    if instruction := os.environ.get(COMPLETE_VARIABLE):
        return shell_complete(cli, {}, PROGRAM, COMPLETE_VARIABLE, instruction)
    try:
        with cli.make_context(PROGRAM, list(args)) as ctx:
            answer = cli.invoke(ctx)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    if callable(answer):
        program: Callable[[], int] = answer
        return program
    return answer if isinstance(answer, int) else 0


def _usage(error: click.ClickException) -> LawfulError:
    """An error of click as one of Lawful."""
    similar: list[str] | None = None
    if isinstance(error, click.NoSuchOption | click.NoSuchCommand):
        message, similar = error.message, error.possibilities
    else:
        message = error.format_message()
    message = " ".join(message.split()).rstrip(".")
    ctx = error.ctx if isinstance(error, click.UsageError) else None
    hint = f"`{ctx.command_path if ctx else PROGRAM} --help` shows what is possible"
    if isinstance(error, click.NoSuchOption) and ctx is not None and (key := _setting_like(error.option_name, ctx)):
        hint = f"write --set {key}=VALUE"
    elif similar:
        hint = f"did you mean {' or '.join(similar)}?"
    return LawfulError("usage", message[:1].lower() + message[1:], hint=hint)


def _setting_like(option: str, ctx: click.Context) -> str | None:
    """The key of the configuration of that name, if the command can set it."""
    if not any("--set" in param.opts for param in ctx.command.params):
        return None
    from lawful import config

    name = option.lstrip("-").replace("-", "_")
    tables = {"": config.Config, "learn.": config.LearnConfig, "sampling.": config.SamplingConfig}
    for prefix, table in (tables | {"explain.": config.ExplainConfig}).items():
        if name in config.settings(table):
            return prefix + name.replace("_", "-")
    return None


def _internal(error: Exception) -> str:
    """The text for an unexpected exception, with its traceback if LAWFUL_DEBUG is 1."""
    text = LawfulError(
        "internal",
        f"{type(error).__name__}: {error}",
        hint="this is a bug in Lawful, not in your input: please report it, with the command and the traceback\n"
        "        that LAWFUL_DEBUG=1 shows",
    ).render()
    if os.environ.get("LAWFUL_DEBUG") == "1":
        import traceback

        text = "".join(traceback.format_exception(error)) + text
    return text


def _print_error(text: str) -> int:
    with suppress(OSError, AttributeError):  # a closed stream is None
        sys.stdout.flush()
    with suppress(OSError):
        click.echo(text, err=True)
    return EXIT_BAD


def _replace_closed_streams() -> None:
    """A stream that the caller has closed is None in Python; this replaces it by one that drops all text."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - for the rest of the process


def _escape_unencodable() -> None:
    """Escape characters that the terminal's encoding lacks, as in a name from a trace, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _flush_streams() -> None:
    """Keep the interpreter's last flush from failing if the reader of our output has left or the disk is full."""
    for stream in filter(None, (sys.stdout, sys.stderr)):
        try:
            stream.flush()
        except OSError:
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())

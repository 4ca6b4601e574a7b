"""``lawful laws``: lists, shows, tests, begins, explains and draws laws."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import click

from lawful.cli.options import FILE, NARROW, text_or_json
from lawful.engine.wording import count
from lawful.errors import LawError, LawfulError
from lawful.laws import catalog, law_search
from lawful.laws.loader import load_law
from lawful.laws.rml.automaton import MOST_STATES, Automaton, NotFiniteError, automaton
from lawful.laws.rml.law import RmlLaw
from lawful.laws.rml.outline import outline
from lawful.laws.rml.recursion import with_deep_recursion
from lawful.reports import dot, mermaid
from lawful.reports import law as report

_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")

_EXAMPLES = """
\b
Examples:
  lawful laws list asyncio
  lawful laws show files/use-after-close
  lawful laws new order-paid-once
  lawful laws test project
  lawful laws explain hash_set.rml
"""

_EXPLAIN_EXAMPLES = """
\b
Examples:
  lawful laws explain hash_set.rml
  lawful laws explain hash_set.rml --format json
  lawful laws explain files.rml --dot | dot -Tsvg -o files.svg
  lawful laws explain files.rml --mermaid --with-failures
"""

_LIST_EXAMPLES = """
\b
Examples:
  lawful laws list
  lawful laws list asyncio locks
  lawful laws list std --format json
"""

_SHOW_EXAMPLES = """
\b
Examples:
  lawful laws show files/use-after-close
"""

_TEST_EXAMPLES = """
\b
Examples:
  lawful laws test
  lawful laws test files locks/release-unheld
  lawful laws test project
"""

_NEW_EXAMPLES = """
\b
Examples:
  lawful laws new order-paid-once
  lawful laws test project/order-paid-once
"""


@click.group(name="laws", no_args_is_help=True, epilog=_EXAMPLES, context_settings=NARROW)
def command() -> None:
    """List, show, test, begin, explain and draw laws."""


@command.command(name="list", epilog=_LIST_EXAMPLES, context_settings=NARROW)
@click.argument("words", metavar="[NAME...]", nargs=-1)
@text_or_json
def list_laws(words: tuple[str, ...], form: Literal["text", "json"]) -> None:
    """List laws: all, or those of areas, of profiles, or of these names.

    There are those of the catalogue that comes with Lawful, those that installed packages ship, and those in the
    folder `laws` of the project, whose area is `project`.
    """
    found = _chosen(words)
    facts = {name: _facts(name, path) for name, path in found.items()}
    if form == "json":
        _print_json(list(facts.values()))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("law", "says", "severity", "cost", "profile"):
        table.add_column(title, overflow="fold")
    for name, fact in facts.items():
        table.add_row(name, fact["title"] or "", fact["severity"] or "", fact["cost"] or "", fact["profile"] or "")
    Console(highlight=False, markup=False).print(table)


@command.command(name="show", epilog=_SHOW_EXAMPLES, context_settings=NARROW)
@click.argument("name", metavar="NAME")
@text_or_json
def show(name: str, form: Literal["text", "json"]) -> None:
    """Show a law: what it says and why, how to do it right, its text, and its two programs."""
    found = _chosen((name,))
    if len(found) != 1:
        hint = f"there are {', '.join(list(found)[:5])}{' …' if len(found) > 5 else ''}"
        raise LawfulError("law-not-found", "this is not the name of one law", where=name, hint=hint)
    ((name, path),) = found.items()
    facts = _facts(name, path)
    programs = {kind: _text(path.with_suffix(f".{kind}.py")) for kind in ("keeps", "breaks")}
    if form == "json":
        _print_json({**facts, "text": _text(path), **programs})
        return
    click.echo(name)
    for key in ("title", "rule", "fix", "severity", "cost", "profile", "url"):
        if facts[key]:
            click.echo(f"  {key:9} {facts[key]}")
    for title, text in (("The law", _text(path)), ("Keeps it", programs["keeps"]), ("Breaks it", programs["breaks"])):
        if text is not None:
            click.echo(f"\n{title}:\n")
            click.echo("\n".join(f"    {line}".rstrip() for line in text.splitlines()))


@command.command(name="test", epilog=_TEST_EXAMPLES, context_settings=NARROW)
@click.argument("words", metavar="[NAME...]", nargs=-1)
@click.option("--jobs", metavar="N", type=click.IntRange(min=1), help="Run so many programs at once.")
@click.option("--core", metavar="NAME", help="Choose the tracer.  [default: the fastest]")
def test(words: tuple[str, ...], jobs: int | None, core: str | None) -> None:
    """Run the programs of laws on this interpreter: one keeps its law, the other breaks it where it says.

    The lines of NAME.breaks.py that end with the comment `# violation` must be found, and no others. All laws of the
    profile std must be silent about NAME.keeps.py, too. Exit code 1 if something is otherwise.
    """
    from lawful.cli.law_examples import run_all

    found = _chosen(words)
    results = run_all(found, jobs or os.cpu_count() or 1, core)
    wrong = 0
    for name, problems in results:
        click.echo(f"{'ok' if not problems else 'WRONG':6} {name}")
        for text in problems:
            click.echo(f"       {text}")
        wrong += bool(problems)
    laws = count(len(found), "law")
    click.echo(f"{laws}, {wrong} of them wrong" if wrong else f"{laws}, as they should be")
    if wrong:
        raise click.exceptions.Exit(1)


@command.command(name="new", epilog=_NEW_EXAMPLES, context_settings=NARROW)
@click.argument("name", metavar="NAME")
@click.option("--folder", metavar="DIR", default=law_search.FOLDER, show_default=True, help="Put the law there.")
def new(name: str, folder: str) -> None:
    """Begin a law of your own: a template with its facts, a program that keeps it and one that breaks it.

    They are laws that work: change them step by step, and let `lawful laws test project` tell whether they still do.
    """
    if not _NAME.fullmatch(name):
        raise LawfulError("law-name", f"{name!r:.60} is no name of a law", hint="write it as order-paid-once")
    from lawful.cli.law_templates import files

    wanted = {Path(folder, file): text for file, text in files(name).items()}
    for path in wanted:
        if path.exists():
            raise LawfulError("law-exists", "there is such a file already", where=str(path), hint="take another name")
    os.makedirs(folder, exist_ok=True)
    for path, text in wanted.items():
        path.write_text(text, encoding="utf-8")
        click.echo(path)
    area = law_search.PROJECT if os.path.basename(os.path.abspath(folder)) == law_search.FOLDER else None
    click.echo(
        f"try it: lawful laws test {area}/{name}" if area else f"use it: lawful run --law {Path(folder, name)}.rml …"
    )


@command.command(epilog=_EXPLAIN_EXAMPLES, context_settings=NARROW)
@click.argument("path", metavar="LAW", type=FILE)
@text_or_json
@click.option("--dot", "as_dot", is_flag=True, help="Only draw the automaton, for Graphviz.")
@click.option("--mermaid", "as_mermaid", is_flag=True, help="Only draw the automaton, for Markdown.")
@click.option("--with-failures", is_flag=True, help="Also draw the steps that break the law.")
@click.option(
    "--max-states",
    metavar="N",
    type=click.IntRange(min=1),
    default=MOST_STATES,
    show_default=True,
    help="Stop at so many states.",
)
def explain(
    path: str,
    form: Literal["text", "json"],
    as_dot: bool,
    as_mermaid: bool,
    with_failures: bool,
    max_states: int,
) -> None:
    """Show what LAW says.

    Shows its event types and equations in normal form, which equations are recursive and how they grow, which events
    it looks at, the size of its automaton, and the compiler's warnings.

    A drawing shows the states of the law and the events that lead from one to the next; a double border means that a
    trace may end there. A law that grows with every object it meets has no finite automaton: then each kind of
    instance is drawn in a frame, and a dashed arrow leads to it from where it is started. At an arrow, `other` is any
    event that no other arrow from there names, and `n := n + 1` tells how a value that the law remembers changes.
    """
    if as_dot and as_mermaid:
        raise LawfulError("usage", "--dot and --mermaid are two drawings", hint="leave out one of them")
    if (as_dot or as_mermaid) and form == "json":
        language = "dot" if as_dot else "mermaid"
        raise LawfulError("usage", f"--{language} prints only a drawing", hint="leave out --format")
    law = load_law(path)
    if not isinstance(law, RmlLaw):
        raise LawfulError("law-language", "only laws in RML can be explained", where=path)
    if as_dot or as_mermaid:
        drawing = with_deep_recursion(
            lambda: report.drawing(law.name, automaton(law, max_states), with_failures=with_failures)
        )
        click.echo((dot if as_dot else mermaid).render(drawing), nl=False)
        return
    built: Automaton | NotFiniteError
    try:
        built = with_deep_recursion(lambda: automaton(law, max_states))
    except NotFiniteError as error:
        built = error
    show = report.json if form == "json" else report.text
    click.echo(with_deep_recursion(lambda: show(law, outline(law), built)), nl=form == "json")


def _chosen(words: Sequence[str]) -> dict[str, Path]:
    """The laws that words mean; without words, all."""
    if not words:
        others = {name: path for each in law_search.law_folders() for name, path in each.laws().items()}
        return {name: catalog.find(name) for name in catalog.names()} | others
    found: dict[str, Path] = {}
    for word in words:
        kept = {} if catalog.knows(word) else law_search.find(word)
        found |= kept or {name: catalog.find(name) for name in catalog.select(word)}
    return found


def _facts(name: str, path: Path) -> dict[str, Any]:
    """The facts of a law; laws outside the catalogue need not have any."""
    empty: dict[str, Any] = dict.fromkeys(("title", "rule", "docs", "fix", "severity", "cost", "profile", "url"))
    facts: dict[str, Any] = {"name": name, "area": name.partition("/")[0], **empty}
    try:
        law = catalog.describe(path.read_text(encoding="utf-8"), name=name, path=path)
    except (LawError, OSError, UnicodeDecodeError):
        return facts
    return facts | {key: getattr(law, key) for key in empty}


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def _print_json(value: object) -> None:
    import msgspec

    click.echo(msgspec.json.format(msgspec.json.encode(value)).decode())

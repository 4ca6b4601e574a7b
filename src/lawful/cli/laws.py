"""``lawful laws``: what a law says, in words and as a drawing."""

from __future__ import annotations

from typing import Literal

import click

from lawful.cli import catalogue
from lawful.errors import LawfulError
from lawful.laws.loader import load_law
from lawful.laws.rml.automaton import MOST_STATES, Automaton, NotFiniteError, automaton
from lawful.laws.rml.law import RmlLaw
from lawful.laws.rml.outline import outline
from lawful.laws.rml.recursion import with_deep_recursion
from lawful.reports import dot, mermaid
from lawful.reports import law as report

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

_SETTINGS = {"max_content_width": 80}


@click.group(name="laws", no_args_is_help=True, epilog=_EXAMPLES, context_settings=_SETTINGS)
def command() -> None:
    """List, show, test, begin, explain and draw laws."""


for _each in (catalogue.list_laws, catalogue.show, catalogue.test, catalogue.new):
    command.add_command(_each)


@command.command(epilog=_EXPLAIN_EXAMPLES, context_settings=_SETTINGS)
@click.argument("path", metavar="LAW", type=click.Path(readable=False))
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option("--dot", "as_dot", is_flag=True, help="Only draw the automaton, for Graphviz.")
@click.option("--mermaid", "as_mermaid", is_flag=True, help="Only draw the automaton, for Markdown.")
@click.option("--with-failures", is_flag=True, help="Draw also the steps that break the law.")
@click.option(
    "--max-states",
    metavar="N",
    type=click.IntRange(min=1),
    default=MOST_STATES,
    show_default=True,
    help="How many states an automaton may have.",
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

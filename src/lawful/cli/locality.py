"""``lawful locality``: how near to each other the events of one object are, and which window suits that."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import click

from lawful.cli import trace_input
from lawful.cli.options import FILE, NARROW, skip_bad_lines, text_or_json
from lawful.errors import LawfulError
from lawful.events.reader import open_trace

if TYPE_CHECKING:
    from lawful.learning.locality import Locality

_EXAMPLES = """
\b
Examples:
  lawful locality run.jsonl
  lawful locality monday.jsonl.gz tuesday.jsonl.gz --window 50
  lawful locality run.jsonl --format json
"""


# Paths are `readable=False`, which only turns click's own check off: our errors say more.
@click.command(name="locality", epilog=_EXAMPLES, context_settings=NARROW)
@click.argument("traces", metavar="TRACE...", nargs=-1, required=True, type=FILE)
@click.option("--window", metavar="N", type=int, help="Measure a window of N events.  [default: 25]")
@click.option(
    "--join",
    "joins",
    metavar="WORDS",
    multiple=True,
    help="Count events for other objects too: result, arguments, family, as `lawful learn` does.",
)
@text_or_json
@click.option("--output", metavar="FILE", type=FILE, help="Write the report there. `-` is standard output.")
@skip_bad_lines
@click.option("--no-progress", is_flag=True, help="Do not show a progress bar.")
def command(
    traces: tuple[str, ...],
    window: int | None,
    joins: tuple[str, ...],
    form: Literal["text", "json"],
    output: str | None,
    skip_bad: bool,
    no_progress: bool,
) -> None:
    """Measure how near to each other the events of one object are.

    Distances are between successive events of an object, in events that `lawful learn` takes in. Shown are the shares
    of pairs that windows of several sizes see, a histogram, the classes whose pairs a window sees all, the tenths
    of the trace in which the others are, and a window to take. Memory grows with the objects that are not
    gone.
    """
    from lawful.learning.event_numbering import NO_OBJECT, EventNumbering
    from lawful.learning.locality import DEFAULT_WINDOW, Locality
    from lawful.learning.parameters import Learning
    from lawful.reports import locality as report

    # The learner's parameters check window and joins.
    asked = Learning(window=DEFAULT_WINDOW if window is None else window, joins=frozenset(trace_input.words(joins)))
    output = None if output == "-" else output
    trace_input.look_at_traces(traces)
    trace_input.look_at_output(output, traces)
    found = Locality(window=asked.window)
    numbering = EventNumbering(asked.joins)
    names: list[str] = []
    with trace_input.rare_collections():
        for trace in traces:
            with open_trace(trace, skip_bad=skip_bad) as reader:
                names.append(reader.name)
                for batch in trace_input.batches(reader, progress=not no_progress):
                    numbering.add(batch, reader.name)
                    taken = numbering.take()
                    found.feed(taken.names, taken.objects, numbering.words)
                    _drop(found, batch)
                found.end()
                numbering.next_trace()
                trace_input.tell_skipped(reader)
    if numbering.passed.get(NO_OBJECT) and not found.events:
        raise LawfulError(
            "learn-no-objects",
            f"none of the {numbering.read:,} events has an object, so Lawful cannot measure distances",
            hint="distances are between events of one object, which is the `targetId` of each",
        )
    with trace_input.opened(output) as target:
        if form == "json":
            target.write(report.render_json(found, names, numbering.passed).decode())
        else:
            show, width = trace_input.printer(target)
            show(report.report_lines(found, names, numbering.passed, width))


def _drop(found: Locality, batch: list[dict[str, Any]]) -> None:
    """Ids never come back, so it is all the same where in the batch an object went."""
    for event in batch:
        if event.get("event") == "gone" and type(target := event.get("targetId")) is int:
            found.gone(target)

"""``lawful trace``: look at a trace file, or convert it."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import click
import msgspec

from lawful.cli import options
from lawful.cli.progress import with_progress
from lawful.cli.trace_input import tell_skipped
from lawful.diagnostics import encodable, printable
from lawful.events import Event, Format, TraceWriter, mentioned_ids, open_trace

_NO_TIME = 1e300


_EXAMPLES = """\b
Examples:
  lawful trace info run.jsonl
  lawful trace head -n 5 run.jsonl.gz
  lawful trace convert run.json run.jsonl.zst --where event=func_post
"""


@click.group(name="trace", no_args_is_help=True, epilog=_EXAMPLES, context_settings=options.NARROW)
def command() -> None:
    """Look at a trace file, or convert it.

    A trace is JSON Lines, one JSON array, or JSON objects one after the other; plain, gzip or zstd. The
    content tells which. `-` is standard input or output.
    """


@command.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True, type=options.FILE)
@click.option("--top", type=click.IntRange(min=0), default=20, show_default=True, help="List so many names (0: all).")
@options.text_or_json
@options.skip_bad_lines
def info(files: tuple[str, ...], top: int, form: Literal["text", "json"], skip_bad: bool) -> None:
    """Count what is in each FILE.

    Shows events by kind and by name, distinct objects, threads, the time span and the size. Memory grows with the
    number of distinct objects and names, not with the length of the trace.
    """
    summaries = []
    for file in files:
        with open_trace(file, skip_bad=skip_bad) as reader:
            summary = _Summary(reader.name)
            for batch in with_progress(reader):
                summary.add(batch)
            summary.bytes, summary.bad_lines = reader.bytes_read, reader.bad_lines
            tell_skipped(reader)
        if form == "json":
            summaries.append(summary.as_json(top))
        else:
            _show(summary, top, first=file is files[0])
    if form == "json":
        click.echo(msgspec.json.encode({"traces": summaries}))


@command.command()
@click.argument("file", metavar="FILE", type=options.FILE)
@click.option(
    "-n",
    "--lines",
    "count",
    metavar="N",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    help="Print N events.",
)
@options.skip_bad_lines
def head(file: str, count: int, skip_bad: bool) -> None:
    """Print the first events of FILE, one JSON object per line."""
    with open_trace(file, skip_bad=skip_bad) as reader, TraceWriter("-", format="jsonl") as writer:
        left = count
        # Read no further than needed: a live stream may have no more.
        while left and (batch := next(reader.batches(), None)) is not None:
            writer.write_many(batch[:left])
            left -= min(left, len(batch))
        tell_skipped(reader)


def _parse_where(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> list[tuple[str, list[Any]]]:
    conditions = []
    for text in values:
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise click.BadParameter(f"{text!r} is not KEY=VALUE", ctx=ctx, param=param)
        accepted: list[Any] = [value]
        with suppress(ValueError):  # a plain word, as in name=open
            accepted.append(msgspec.json.decode(value))
        conditions.append((key, accepted))
    return conditions


@command.command()
@click.argument("source", metavar="IN", type=options.FILE)
@click.argument("target", metavar="OUT", type=options.FILE)
@click.option(
    "--to",
    "form",
    type=click.Choice(get_args(Format)),
    help="Write one object per line, one array, or indented objects. By default OUT's suffix decides.",
)
@click.option(
    "--compress",
    type=click.Choice(["none", "gz", "zst"]),
    help="Compress OUT. By default its suffix decides: .gz, .zst.",
)
@click.option(
    "--where",
    "conditions",
    metavar="KEY=VALUE",
    multiple=True,
    callback=_parse_where,
    help="Keep only events in which this field has this value, a word or JSON; all of several must hold.",
)
@options.skip_bad_lines
def convert(
    source: str,
    target: str,
    form: Format | None,
    compress: Literal["none", "gz", "zst"] | None,
    conditions: list[tuple[str, list[Any]]],
    skip_bad: bool,
) -> None:
    """Write the events of IN to OUT, in another form.

    Format and compression can change, and --where keeps fewer events. OUT takes its name only when it is complete, so
    it may be IN.
    """
    with ExitStack() as stack:
        reader = stack.enter_context(open_trace(source, skip_bad=skip_bad))
        writer = stack.enter_context(TraceWriter(target, format=form, compression=compress, atomic=True))
        for batch in with_progress(reader):
            writer.write_many(batch if not conditions else [event for event in batch if _holds(event, conditions)])
        tell_skipped(reader)


def _holds(event: Event, conditions: list[tuple[str, list[Any]]]) -> bool:
    return all(key in event and event[key] in accepted for key, accepted in conditions)


@dataclass
class _Summary:
    """What `info` tells about one trace."""

    name: str
    events: int = 0
    bytes: int = 0
    bad_lines: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    names: Counter[str] = field(default_factory=Counter)
    objects: set[int | str] = field(default_factory=set)
    threads: set[int | str] = field(default_factory=set)
    first_time: float | None = None
    last_time: float | None = None

    def add(self, batch: list[Event]) -> None:
        self.events += len(batch)
        _count(self.kinds, batch, "event")
        _count(self.names, batch, "name")
        objects = self.objects
        for event in batch:
            objects.update(mentioned_ids(event))
        self.threads.update(thread for event in batch if isinstance(thread := event.get("thread"), int | str))
        # An integer may be too large for a float; no clock shows such a time.
        times = [t for event in batch if isinstance(t := event.get("time"), int | float) and abs(t) < _NO_TIME]
        if times:
            # Threads may write a little out of order: the span is from the least to the greatest.
            self.first_time = min(times) if self.first_time is None else min(self.first_time, *times)
            self.last_time = max(times) if self.last_time is None else max(self.last_time, *times)

    def as_json(self, top: int) -> dict[str, Any]:
        return {
            "trace": encodable(self.name),
            "events": self.events,
            "bytes": self.bytes,
            "bad_lines": self.bad_lines,
            "objects": len(self.objects),
            "threads": len(self.threads),
            "time": None if self.first_time is None else {"first": self.first_time, "last": self.last_time},
            "by_event": dict(_ranked(self.kinds)),
            "by_name": dict(_ranked(self.names)[: top or None]),
            "names": len(self.names),
        }


def _count(counter: Counter[str], batch: list[Event], key: str) -> None:
    values = [event[key] for event in batch if key in event]
    try:
        found = Counter(values)
    except TypeError:  # a list or an object stands there
        found = Counter(map(_as_text, values))
    for value, count in found.items():
        counter[_as_text(value)] += count


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list | dict):
        return "(an array)" if isinstance(value, list) else "(an object)"
    return msgspec.json.encode(value).decode()


def _ranked(counter: Counter[str]) -> list[tuple[str, int]]:
    return sorted(counter.items(), key=lambda item: (-item[1], item[0]))


def _show(summary: _Summary, top: int, *, first: bool) -> None:
    facts = [
        ("events", f"{summary.events:,}"),
        ("objects", f"{len(summary.objects):,}"),
        ("threads", f"{len(summary.threads):,}"),
        ("size", _size(summary.bytes)),
    ]
    if summary.first_time is not None and summary.last_time is not None:
        span = summary.last_time - summary.first_time
        facts.append(("time", f"{summary.first_time:g} s to {summary.last_time:g} s ({span:g} s)"))
    if summary.bad_lines:
        facts.append(("bad lines", f"{summary.bad_lines:,}"))
    names = _ranked(summary.names)
    listed = names[: top or None]
    omitted = len(names) - len(listed)
    if not first:
        click.echo()
    click.echo(printable(summary.name))
    for key, value in facts:
        click.echo(f"  {key:<10}{value}")
    for heading, rows in (("by event", _ranked(summary.kinds)), ("by name", listed)):
        if rows:
            click.echo(f"  {heading}")
            width = max(len(f"{count:,}") for _, count in rows)
            for name, count in rows:
                click.echo(f"    {count:>{width},}  {printable(name)}")
    if omitted:
        click.echo(f"    and {omitted:,} more {'name' if omitted == 1 else 'names'} (--top 0 lists all)")


def _size(count: int) -> str:
    size = float(count)
    for unit in ("bytes", "KiB", "MiB", "GiB"):
        if size < 1024:
            return f"{count:,} bytes" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} TiB"

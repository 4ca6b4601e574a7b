"""The trace of a run, which can be switched on and off while the program goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lawful import core
from lawful.engine.descriptors import opener
from lawful.engine.findings import Event
from lawful.errors import TraceError
from lawful.events.event_kinds import to_dict

if TYPE_CHECKING:
    from lawful.engine.run import LawRun
    from lawful.engine.tracer_setup import TracerSetup
    from lawful.events.writer import TraceWriter
    from lawful.sources.python.tracer_protocol import Tracer


class Recording:
    """Where the events of one process are written to, if anywhere."""

    def __init__(self, path: str | None) -> None:
        self.writer = None if path is None else trace_writer(path)
        self._tracer: Tracer | None = None  # if the trace needs one of its own

    @property
    def on(self) -> bool:
        return self.writer is not None

    def begin(self, path: str, live: LawRun, setup: TracerSetup, *, apart: bool) -> None:
        """Write from now on. `apart`: the run makes no events, so another tracer must record them."""
        self.writer = trace_writer(path)
        if apart:
            self._tracer = setup.recorder(self.writer.write_many)
            self._tracer.start()
        else:
            live.record(self.writer)

    def end(self, live: LawRun) -> None:
        """Stop writing."""
        if self._tracer is None:
            live.record(None)
        else:
            self._tracer.stop()
            self._tracer = None
        self.close(live)
        self.writer = None

    def end_apart(self, live: LawRun) -> None:
        """Stop writing, if the trace has its own tracer."""
        if self._tracer is not None:
            self.end(live)

    def close(self, live: LawRun) -> None:
        if self.writer is not None:
            try:
                self.writer.close()
            except (TraceError, OSError) as error:
                live.errors.append(f"the trace is not complete: {error}")

    def flush(self) -> None:
        if self._tracer is not None:
            self._tracer.flush()

    def after_fork_in_child(self) -> None:
        """Drop the parent's tracer, and what it had gathered."""
        if self._tracer is not None:
            self._tracer.after_fork(0)
            self._tracer.stop()
            self._tracer = None


def trace_writer(path: str, *, atomic: bool = False) -> TraceWriter:
    # Only runs with a trace wait for these. The reader joins the traces of children at the end, when the program may
    # have changed how modules are imported.
    import lawful.events.reader  # noqa: F401
    from lawful.events.writer import TraceWriter

    return TraceWriter(path, atomic=atomic, opener=opener)


def write_batch(writer: TraceWriter, batch: list[Event]) -> str | None:
    """Write events from a tracer, dicts or lazy ones; returns what went wrong, if anything did."""
    try:
        if core.native is None or writer.format != "jsonl":
            writer.write_many([to_dict(event) for event in batch])
        else:
            writer.write_lines(core.native.json_lines(batch, writer.lines), len(batch))
    except (TraceError, OSError) as error:
        message = error.message if isinstance(error, TraceError) else error.strerror or str(error)
        return f"the trace is not complete: {message}"
    return None

"""Processes that see only some messages have the first process, which sees all, judge these before they go out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lawful.engine.findings import Event, Finding
from lawful.engine.run import LawRun
from lawful.engine.violations import Stop, Violation, ViolationResponse
from lawful.sources.actors import remote_judge

_UNJUDGED = "messages of other processes went out without being judged: the first process did not answer in time"


class RemoteJudge:
    """In a process that sees some messages: asks the first process, and raises what it finds."""

    def __init__(self, live: LawRun, folder: Callable[[], str]) -> None:
        self._live = live
        self._folder = folder
        self._response = ViolationResponse(live.on_violation)

    def ask(self, batch: list[Event]) -> list[Event]:
        """Have the messages among these events judged; the rest of them."""
        messages = [event for event in batch if _is_message(event)]
        if not messages:
            return batch
        try:
            verdict = remote_judge.ask(self._folder(), messages)
        except OSError:
            self._live.warn(_UNJUDGED)
            return batch
        if verdict is not None:
            offence = Finding.from_json(verdict), messages[-1]
            self._response.stop_for(offence)
            self._response.act(offence, messages[-1])
        return [event for event in batch if not _is_message(event)]


class RemoteJudgeServer:
    """In the first process."""

    def __init__(self, live: LawRun, folder: str) -> None:
        self._live = live
        self._stopping: Finding | None = None
        self._server = remote_judge.QuestionServer(folder, self._judge)
        self._server.start()
        self.stop = self._server.stop
        self.after_fork_in_child = self._server.after_fork_in_child

    def _judge(self, events: list[Event]) -> dict[str, Any] | None:
        try:
            self._live.deliver(events)
        except Violation as broken:
            return broken.finding.to_json()
        except Stop as broken:
            self._stopping = broken.finding
        except Exception as error:  # the thread must go on: other clients wait
            self._live.fail(error)
        # `deliver` raises it once in each thread, and this is always the same thread.
        return None if self._stopping is None else self._stopping.to_json()


def _is_message(event: Event) -> bool:
    return event.get("event") in ("send", "receive") and "group" in event

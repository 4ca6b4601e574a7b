"""Messages that another process judges before they go out."""

from __future__ import annotations

import _socket
import multiprocessing
import os
import stat
import tempfile
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import lawful
from lawful.engine.remote_judge import RemoteJudge, RemoteJudgeServer
from lawful.engine.run import LawRun
from lawful.engine.violations import OnViolation, Stop, Violation
from lawful.sources.actors.remote_judge import QuestionServer, ask

SPAWN = multiprocessing.get_context("spawn")
VIEW = """
view V specifies Shop { send Shop.open() open, send Shop.close() close }
S ::= epsilon | open T
T ::= epsilon | close S
"""


@pytest.fixture
def folder() -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="lawful-") as path:  # short: the name of a socket may not be long
        yield path


def message(name: str, **more: object) -> dict[str, Any]:
    return {"event": "send", "name": f"Shop.{name}", "group": "Shop", "groupId": 1, "args": []} | more


def worker(folder: str, on_violation: OnViolation, pipe: Any) -> None:
    """Another process: sends the given events, and prints the results."""
    live = LawRun((), on_violation=on_violation)
    client = RemoteJudge(live, lambda: folder)
    while (name := pipe.recv()) is not None:
        try:
            rest = client.ask([message(name), {"event": "func_pre", "name": name}])
        except (Violation, Stop) as error:
            pipe.send((type(error).__name__, error.finding.law, error.finding.event))
        else:
            pipe.send(("sent", len(rest), live.warnings))


class Workers:
    """Two of them."""

    def __init__(self, folder: str, on_violation: OnViolation) -> None:
        pairs = [SPAWN.Pipe() for _ in range(2)]
        self.pipes = [ours for ours, _ in pairs]
        self.processes = [SPAWN.Process(target=worker, args=(folder, on_violation, theirs)) for _, theirs in pairs]
        for process in self.processes:
            process.start()

    def send(self, who: int, name: str) -> Any:
        self.pipes[who].send(name)
        assert self.pipes[who].poll(60)
        return self.pipes[who].recv()

    def end(self) -> None:
        for pipe in self.pipes:
            pipe.send(None)
        for process in self.processes:
            process.join(60)


def test_what_breaks_a_law_only_together_is_raised_where_it_is_sent(folder: str) -> None:
    live = LawRun([lawful.grammar.compile(VIEW)], on_violation="raise")
    server, workers = RemoteJudgeServer(live, folder), Workers(folder, "raise")
    try:
        assert workers.send(0, "open") == ("sent", 1, [])
        kind, law, event = workers.send(1, "open")
        assert (kind, law, event["name"]) == ("Violation", live.laws[0].law.name, "Shop.open")
        assert workers.send(1, "close") == ("sent", 1, [])
        assert workers.send(1, "open") == ("sent", 1, [])
        with pytest.raises(Violation):
            live.deliver([message("open")])  # of the first process itself
        assert workers.send(0, "close") == ("sent", 1, [])
    finally:
        server.stop()
    assert [finding.count for finding in live.findings] == [2]
    assert live.events == 6
    kind, rest, warnings = workers.send(0, "close")
    assert (kind, rest) == ("sent", 2), "nobody is there to judge it, and it goes out"
    assert "without being judged" in warnings[0]
    workers.end()


def test_all_processes_are_stopped(folder: str) -> None:
    live = LawRun([lawful.grammar.compile(VIEW)], on_violation="stop")
    server, workers = RemoteJudgeServer(live, folder), Workers(folder, "stop")
    try:
        assert workers.send(0, "close")[0] == "Stop"
        assert workers.send(1, "open")[0] == "Stop"
        assert workers.send(1, "close")[0] == "sent", "on the way out"
    finally:
        server.stop()
    workers.end()
    assert len(live.findings) == 1


def question(folder: str, process: int, count: int) -> None:
    for number in range(count):
        verdict = ask(folder, [{"process": process, "number": number, "text": "ä" * 50_000}], 60.0)
        assert verdict == {"process": process, "number": number}


def test_questions_of_several_processes_are_answered_one_by_one(folder: str) -> None:
    seen: list[tuple[int, int]] = []
    within = threading.Lock()

    def judge(events: list[dict[str, Any]]) -> dict[str, Any] | None:
        assert within.acquire(blocking=False)
        (event,) = events
        assert event["text"] == "ä" * 50_000
        seen.append((event["process"], event["number"]))
        within.release()
        return {"process": event["process"], "number": event["number"]}

    server = QuestionServer(folder, judge)
    server.start()
    processes = [SPAWN.Process(target=question, args=(folder, process, 50)) for process in range(2)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    server.stop()
    assert [process.exitcode for process in processes] == [0, 0]
    for asker in range(2):
        assert [number for who, number in seen if who == asker] == list(range(50))


def test_who_is_not_answered_does_not_wait_for_ever(folder: str) -> None:
    server = QuestionServer(folder, lambda events: None)  # it has not started
    with pytest.raises(TimeoutError):
        ask(folder, [], 0.05)
    server.start()
    assert ask(folder, []) is None
    server.stop()
    with pytest.raises(OSError):
        ask(folder, [])


def test_what_is_no_question_is_not_answered_and_harms_nobody(folder: str) -> None:
    asked: list[object] = []
    server = QuestionServer(folder, lambda events: asked.append(events))
    server.start()
    for text in (b"", b"{}\n", b'[{"event": \n', b"\xff\n"):
        connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM, 0)
        connection.settimeout(60)
        connection.connect(os.path.join(folder, "remote_judge"))
        connection.sendall(text)
        connection.shutdown(_socket.SHUT_WR)
        assert connection.recv(100) == b""
        connection.close()
    assert ask(folder, [{"event": "send"}]) is None
    server.stop()
    assert asked == [[{"event": "send"}]]


def test_nobody_else_can_ask(folder: str) -> None:
    server = QuestionServer(folder, lambda events: None)
    modes = [stat.S_IMODE(os.stat(path).st_mode) for path in (folder, os.path.join(folder, "remote_judge"))]
    assert modes == [0o700, 0o600]
    server.stop()
    assert os.listdir(folder) == []


def test_a_fault_in_judging_is_told_and_others_go_on(folder: str, monkeypatch: pytest.MonkeyPatch) -> None:
    live = LawRun([], on_violation="raise")
    monkeypatch.setattr(live, "deliver", lambda events: 1 / 0)
    server = RemoteJudgeServer(live, folder)
    assert ask(folder, []) is None
    assert ask(folder, []) is None
    server.stop()
    assert isinstance(live.fault, ZeroDivisionError)

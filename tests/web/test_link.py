"""The link between program and server: the newest state, no backlog, and commands that are carried out."""

from __future__ import annotations

import json
import socket
import time
from typing import Any

import pytest

from lawful.engine.run_state import Mark
from lawful.errors import LawfulError
from lawful.web.link import ProgramSide, ServerSide


class FakeControl:
    """A run with as many findings as one likes."""

    def __init__(self, findings: int = 0, size: int = 10) -> None:
        self.count = 1
        self.numbers = range(1, findings + 1)
        self.size = size
        self.done: list[object] = []
        self.asked = 0  # how often
        self.waits = 0.0  # seconds, in which it does nothing

    def look_again(self):
        pass

    def state(self):
        self.asked += 1
        time.sleep(self.waits)
        return {"events": self.count, "text": "x" * self.size}

    def findings(self, known):
        sent = ({"number": number, "count": self.count, "muted": False, "withdrawn": False} for number in self.numbers)
        return [each for each in sent if known.get(each["number"]) != Mark(each["count"], False, False)]

    def do(self, command):
        self.done.append(command)
        if command["do"] == "wrong":
            raise LawfulError("control-value", "no", hint="yes")
        if command["do"] == "fault":
            raise ZeroDivisionError("boom")
        return {"did": command["do"]}


@pytest.fixture
def ends():
    ours, theirs = socket.socketpair()
    theirs.settimeout(10)
    yield ours, theirs
    ours.close()
    theirs.close()


def turns(side: ProgramSide, number: int = 5) -> None:
    """So many beats, by which it is time to do something even if nobody looks."""
    for _ in range(number):
        side._due = 0.0
        side.beat()


def say(theirs: socket.socket, **command: object) -> None:
    theirs.sendall(json.dumps(command).encode() + b"\n")


def lines(theirs: socket.socket) -> list[bytes]:
    theirs.settimeout(0.2)
    data = b""
    try:
        while part := theirs.recv(1 << 20):
            data += part
    except TimeoutError:
        pass
    assert data.endswith(b"\n") or not data
    return data.splitlines()


def test_a_server_that_does_not_read_costs_nothing(ends):
    ours, theirs = ends
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    control: Any = FakeControl(size=1_000_000)
    side = ProgramSide(control, ours)
    say(theirs, do="look", on=True)
    turns(side, 50)  # which would block, or gather messages, if they could
    assert 0 < len(side._unsent) < 1_100_000
    assert control.asked == 1


def test_a_server_that_has_gone_is_no_trouble(ends):
    ours, theirs = ends
    control: Any = FakeControl()
    side = ProgramSide(control, ours)
    theirs.close()
    turns(side)
    assert side._socket is None
    turns(side)
    side.end()


def test_while_nobody_looks_nothing_is_made_or_sent(ends):
    ours, theirs = ends
    control: Any = FakeControl(findings=3)
    side = ProgramSide(control, ours)
    turns(side, 20)
    assert control.asked == 0 and lines(theirs) == []
    say(theirs, id=1, do="state")
    turns(side, 20)
    (line,) = lines(theirs)
    sent = json.loads(line)
    assert control.asked == 1 and len(sent["findings"]) == 3
    assert sent["answers"] == [{"id": 1, "result": {}}] and not sent["more"]
    say(theirs, do="look", on=True)
    turns(side, 20)
    assert control.asked > 10 and len(lines(theirs)) == control.asked - 1
    say(theirs, do="look", on=False)
    turns(side, 5)
    before = control.asked
    turns(side, 20)
    assert control.asked == before


def test_a_machine_that_is_busy_with_others_does_not_make_states_rare(ends):
    ours, theirs = ends
    control: Any = FakeControl()
    control.waits = 0.2
    side = ProgramSide(control, ours)
    say(theirs, do="look", on=True)
    began = time.monotonic()
    turns(side, 5)
    assert control.asked == 1
    assert side._due < began + 20  # it would be 50 s later if waiting were counted


def test_commands_are_carried_out_and_answered(ends):
    ours, theirs = ends
    control: Any = FakeControl()
    side = ProgramSide(control, ours)
    sent = [{"id": 1, "do": "a"}, {"id": 2, "do": "wrong"}, {"id": 3, "do": "fault"}]
    text = b"".join(json.dumps(each).encode() + b"\n" for each in sent)
    theirs.sendall(text[:20])
    turns(side)
    theirs.sendall(text[20:])
    turns(side)
    server = ServerSide(lambda line: None)
    answers = [answer for line in lines(theirs) for answer in server.take(line)]
    turns(side)
    answers += [answer for line in lines(theirs) for answer in server.take(line)]
    assert [answer["id"] for answer in answers] == [1, 2, 3]
    assert answers[0]["result"] == {"did": "a"}
    assert answers[1]["error"]["slug"] == "control-value" and answers[1]["error"]["hint"] == "yes"
    assert "ZeroDivisionError" in answers[2]["error"]["message"]
    assert [each["do"] for each in control.done] == ["a", "wrong", "fault"]


def test_the_end_brings_everything(ends):
    ours, theirs = ends
    control: Any = FakeControl(findings=1_000)
    side = ProgramSide(control, ours)
    theirs.settimeout(5)
    import threading

    taken: list[bytes] = []
    reader = threading.Thread(target=lambda: taken.extend(_until_closed(theirs)))
    reader.start()
    say(theirs, do="look", on=True)
    turns(side, 6)
    control.count = 2
    side.end()
    reader.join(10)
    server = ServerSide(lambda line: None)
    for line in taken:
        server.take(line)
    assert len(server.findings) == 1_000
    assert {finding["count"] for finding in server.findings.values()} == {2}
    assert server.state["events"] == 2


def _until_closed(theirs: socket.socket) -> list[bytes]:
    data = b""
    while part := theirs.recv(1 << 20):
        data += part
    return data.splitlines()


def test_a_viewer_gets_all_changes_and_none_twice():
    server = ServerSide(lambda line: None)
    known: dict[int, int] = {}
    version, sent_in_all = 0, 0
    for turn in range(1, 8):
        found = [{"number": number, "count": turn} for number in range(turn * 50, turn * 50 + 100)]
        server.take(json.dumps({"state": {"events": turn}, "findings": found, "answers": []}).encode())
        if turn % 3 == 0:  # a slow one
            while version < server.version:
                version, sent = server.since(version, most=60)
                sent_in_all += len(sent["findings"])
                known |= {each["number"]: each["count"] for each in sent["findings"]}
    while version < server.version:
        version, sent = server.since(version, most=60)
        known |= {each["number"]: each["count"] for each in sent["findings"]}
    assert known == {number: finding["count"] for number, finding in server.findings.items()}
    assert sent_in_all <= 700
    assert server.since(version)[1]["findings"] == []

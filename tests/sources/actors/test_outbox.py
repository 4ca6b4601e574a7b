"""Messages of several processes in one order."""

from __future__ import annotations

import json
import multiprocessing
import os
from pathlib import Path
from typing import Any

import pytest

from lawful import pristine_os
from lawful.sources.actors import outbox
from lawful.sources.actors.outbox import Inbox, Outbox


def play(folder: str, own: Any, other: Any, first: bool, turns: int) -> None:
    """Two processes throw a ball to each other; each writes down its throw before it throws."""
    box = Outbox(folder)
    ball = 0
    for _ in range(turns):
        if not first:
            ball = own.recv()
        first = False
        box.put([{"event": "send", "ball": ball}])
        other.send(ball + 1)


def test_a_message_stands_before_what_follows_from_it(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    one, two = context.Pipe()
    folder = str(tmp_path)
    players = [
        context.Process(target=play, args=(folder, one, one, True, 100)),
        context.Process(target=play, args=(folder, two, two, False, 100)),
    ]
    for player in players:
        player.start()
    for player in players:
        player.join(60)
    inbox = Inbox(folder)
    assert [event["ball"] for event in inbox.take(over=True)] == list(range(200))
    assert inbox.missing == 0
    assert len(list(tmp_path.iterdir())) == 2


def write(folder: Path, process: int, *lines: tuple[float, int]) -> None:
    with open(folder / f"messages.{process}", "a") as file:
        for at, number in lines:
            file.write(json.dumps([at, number, {"from": process, "number": number}]) + "\n")


def test_what_is_young_waits_for_those_who_may_be_before_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(pristine_os.clock, "monotonic", lambda: now)
    inbox = Inbox(str(tmp_path))
    write(tmp_path, 1, (99.9, 1))
    assert inbox.take() == []
    write(tmp_path, 2, (99.8, 1))  # it comes later, and was sent earlier
    now = 100.1
    assert inbox.take() == [], "it is too early to look again"
    now = 101.5
    assert [event["from"] for event in inbox.take()] == [2, 1]
    write(tmp_path, 1, (101.4, 2))
    assert [event["number"] for event in inbox.take(over=True)] == [2]
    assert inbox.take(over=True) == []


def test_half_a_line_is_read_when_it_is_whole(tmp_path: Path) -> None:
    inbox = Inbox(str(tmp_path))
    line = json.dumps([1.0, 1, {"event": "send", "text": "ä"}]).encode() + b"\n"
    with open(tmp_path / "messages.7", "wb", buffering=0) as file:
        file.write(line[:-5])
        assert inbox.take(over=True) == []
        file.write(line[-5:])
    assert inbox.take(over=True) == [{"event": "send", "text": "ä"}]


def test_what_is_missing_is_counted(tmp_path: Path) -> None:
    write(tmp_path, 1, (1.0, 1), (2.0, 4))
    inbox = Inbox(str(tmp_path))
    assert len(inbox.take(over=True)) == 2
    assert inbox.missing == 2


def test_a_forked_process_writes_a_file_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    box = Outbox(str(tmp_path))
    box.put([{"from": 1}])
    monkeypatch.setattr(outbox.os, "getpid", lambda: 1_000_000_000)
    box.put([{"from": 2}])
    monkeypatch.undo()
    assert {path.name for path in tmp_path.iterdir()} == {f"messages.{os.getpid()}", "messages.1000000000"}
    assert [event["from"] for event in Inbox(str(tmp_path)).take(over=True)] == [1, 2]


def test_a_folder_that_is_gone_is_empty(tmp_path: Path) -> None:
    assert Inbox(str(tmp_path / "nowhere")).take(over=True) == []

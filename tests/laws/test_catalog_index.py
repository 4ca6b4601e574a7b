"""What is written down of the catalogue's laws: a law that nobody has read does what one does that was."""

from __future__ import annotations

import pickle
import random
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lawful.engine.run import LawRun
from lawful.laws import catalog, rml
from lawful.laws.catalog import index
from lawful.laws.loader import find_laws, load_law, load_laws
from lawful.laws.protocol import Verdict, Watch
from lawful.laws.rml import RmlLaw

Event = dict[str, Any]
NAMES = catalog.names()


def read(name: str) -> RmlLaw:
    return rml.compile(catalog.find(name).read_text(encoding="utf-8"), name=name)


def unread(name: str) -> RmlLaw:
    law = load_law(catalog.find(name), name=name)
    assert isinstance(law, RmlLaw) and law.facts is not None
    return law


def is_read(law: RmlLaw) -> bool:
    return "specification" in law.__dict__


def some_events(watches: tuple[Watch, ...], seed: int, count: int = 40) -> list[Event]:
    """Events that the law can match, of a few objects, and ends of objects."""
    dice = random.Random(seed)
    found: list[Event] = []
    for _ in range(count):
        keys = dict(dice.choice(watches).keys)
        event: Event = {"event": "gone"}
        for key, values in keys.items():
            if values:
                event[key] = dice.choice(values)
            elif key in ("args", "argIds"):
                event[key] = [dice.randint(1, 3) for _ in range(dice.randint(0, 3))]
            elif key in ("kwargs", "kwargIds"):
                event[key] = {}
            else:
                event[key] = dice.choice([1, 2, 3, None])
        event.setdefault("targetId", dice.randint(1, 3))
        event.setdefault("argIds", [dice.randint(1, 3)])
        found.append(event)
        if dice.random() < 0.3:
            found.append({"event": "gone", "targetId": dice.randint(1, 9)})
    return found


def test_all_laws_are_written_down() -> None:
    assert sorted(index.entries()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_what_is_known_is_what_reading_shows(name: str) -> None:
    law, other = unread(name), read(name)
    assert (law.watches, law.selective, law.tracks_objects) == (other.watches, other.selective, other.tracks_objects)
    assert law.parts == (law,) and len(other.parts) == 1
    monitor = law.monitor()
    assert (monitor.verdict, monitor.ignores_unseen_end, monitor.doomed_at, monitor.warnings()) == (
        other.monitor().verdict,
        other.monitor().ignores_unseen_end,
        None,
        (),
    )
    assert monitor.outcome() == other.monitor().outcome()
    assert monitor.end() is Verdict.TRUE is other.monitor().end()
    assert not is_read(law)
    again = pickle.loads(pickle.dumps(law))
    assert again.facts == law.facts and not is_read(again)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_is_found_as_by_a_law_that_was_read(name: str) -> None:
    watches = read(name).watches
    assert watches is not None
    for seed in range(3):
        events = some_events(watches, seed)
        runs = [LawRun([law]) for law in (unread(name), read(name))]
        for run in runs:
            dice = random.Random(seed)
            rest = list(events)
            while rest:
                size = dice.randint(1, 8)
                run.deliver([dict(event) for event in rest[:size]])
                rest = rest[size:]
            run.end()
            assert run.fault is None
        one, other = ([finding.to_json() for finding in run.findings] for run in runs)
        assert one == other


def test_the_end_of_strangers_makes_nobody_read_a_law() -> None:
    laws = load_laws(find_laws("std"))
    run = LawRun(laws)
    run.deliver([{"event": "gone", "name": "list", "targetId": each} for each in range(1, 50)])
    run.deliver([{"event": "func_pre", "name": "app.f", "targetId": 3}])
    assert [law.name for law in laws if is_read(law)] == []  # type: ignore[arg-type]
    run.deliver(
        [{"event": kind, "name": "io.TextIOWrapper.close", "targetId": 7} for kind in ("func_pre", "func_post")]
    )
    known = {law.name for law in laws if is_read(law)}  # type: ignore[arg-type]
    assert "files/use-after-close" in known
    assert known <= {law.name for law in laws if "io.TextIOWrapper.close" in str(law.watches)}
    run.deliver([{"event": "func_pre", "name": "io.TextIOWrapper.read", "targetId": 7}])
    assert [finding.law for finding in run.findings] == ["files/use-after-close"]


def test_a_law_that_was_changed_is_read() -> None:
    name = "files/use-after-close"
    text = catalog.find(name).read_text(encoding="utf-8")
    assert index.facts_of(name, text) is not None
    assert index.facts_of(name, text + "\n") is None
    assert index.facts_of("files/unheard-of", text) is None


@pytest.mark.parametrize("damage", [b"", b"{", b"[1]", b'{"files/use-after-close": [1, 2]}', None])
def test_without_what_was_written_down_laws_are_read(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, damage: bytes | None
) -> None:
    path = tmp_path / "index.json"
    if damage is not None:
        path.write_bytes(damage)
    monkeypatch.setattr(index, "PATH", path)
    index.entries.cache_clear()
    try:
        assert index.entries() == {}
        law = load_law(catalog.find("files/use-after-close"), name="files/use-after-close")
        assert isinstance(law, RmlLaw) and law.facts is None
        assert law.watches == read("files/use-after-close").watches
        assert catalog.select("std") == [name for name in NAMES if catalog.load(name).profile == "std"]
    finally:
        index.entries.cache_clear()


@pytest.mark.parametrize(
    "text",
    [
        "a matches {name: 'a'};\nMain = a;",  # more must come
        "Main = all;",  # decided
        "Main = none;",  # lost
        "// judged: each part alone\na matches {name: 'a'};\nMain = A /\\ B;\nA = a >> a*;\nB = a >> a?;",
    ],
)
def test_laws_of_which_more_is_to_be_said_are_not_written_down(text: str) -> None:
    assert index.entry_of(rml.compile(text), "std") is None


def test_an_entry_survives_being_written_down() -> None:
    entry = index.entry_of(read("files/use-after-close"), "std")
    assert entry is not None
    assert msgspec.json.decode(msgspec.json.encode(entry), type=index.Entry) == entry

"""Writing traces: formats, compression, what survives a kill, what is refused."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lawful.errors import TraceError
from lawful.events import TraceWriter, open_trace

EVENTS = [{"event": "new", "targetId": n, "name": 'é\n"', "args": [None, 1.5, {"a": []}]} for n in range(10)]


def read(path: Path, **options: Any) -> list[Any]:
    with open_trace(path, **options) as reader:
        return list(reader)


@pytest.mark.parametrize("count", [0, 1, 10])
@pytest.mark.parametrize("name", ["t.jsonl", "t.jsonl.gz", "t.jsonl.zst", "t.json", "t.json.gz", "t.JSON.ZST", "t"])
def test_what_is_written_is_read(tmp_path: Path, name: str, count: int) -> None:
    path = tmp_path / name
    events = EVENTS[:count]
    with TraceWriter(path) as writer:
        for event in events[:3]:
            writer.write(event)
        writer.write_many(iter(events[3:]))
        assert writer.events == count
    assert read(path) == events
    content = path.read_bytes()
    if name == "t.json":
        assert json.loads(content) == events
    if name.endswith(".gz"):
        assert content.startswith(b"\x1f\x8b")
    if name.lower().endswith(".zst"):
        assert content.startswith(b"\x28\xb5\x2f\xfd")


def test_forms() -> None:
    def written(**options: Any) -> bytes:
        sink = io.BytesIO()
        with TraceWriter(sink, **options) as writer:
            writer.write_many([{"a": 1}, {"b": [2]}])
        return sink.getvalue()

    assert written() == b'{"a":1}\n{"b":[2]}\n'
    assert written(format="array") == b'[\n{"a":1},\n{"b":[2]}\n]\n'
    assert written(format="values") == b'{\n  "a": 1\n}\n{\n  "b": [\n    2\n  ]\n}\n'
    assert written(compression="gz").startswith(b"\x1f\x8b")


names = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | names,
    lambda v: st.lists(v, max_size=4) | st.dictionaries(names, v, max_size=4),
    max_leaves=12,
)


@given(
    st.lists(st.dictionaries(names, values, max_size=4), max_size=6),
    st.sampled_from(["jsonl", "array", "values"]),
    st.sampled_from(["none", "gz", "zst"]),
)
def test_round_trip(events: list[Any], form: Any, compression: Any) -> None:
    sink = io.BytesIO()
    with TraceWriter(sink, format=form, compression=compression) as writer:
        writer.write_many(events[:2])
        writer.flush()
        writer.write_many(events[2:])
    sink.seek(0)
    with open_trace(sink) as reader:
        assert list(reader) == events


@pytest.mark.parametrize("name", ["t.jsonl", "t.jsonl.gz", "t.jsonl.zst", "t.json"])
def test_what_was_flushed_survives_a_kill(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    program = (
        "import sys, time; from lawful.events import TraceWriter\n"
        f"w = TraceWriter({str(path)!r})\n"
        "w.write_many({'event': 'new', 'targetId': n} for n in range(20000))\n"
        "w.flush(); print('ready', flush=True); time.sleep(60)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(signal.SIGKILL)
    finally:
        process.kill()
        process.communicate()
    events = []
    with open_trace(path, skip_bad=True) as reader:
        try:
            for event in reader:
                events.append(event)
        except TraceError as error:
            assert (name, error.slug) == ("t.json", "trace-truncated")
    assert events == [{"event": "new", "targetId": n} for n in range(20000)]


def test_lines_reach_the_file_before_it_is_closed(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    with TraceWriter(path, interval=0) as writer:
        writer.write({"a": 1})
        assert path.read_bytes() == b'{"a":1}\n'
        writer.write_many([{"a": 2}])
        assert path.read_bytes().count(b"\n") == 2
    with TraceWriter(path, interval=1000) as writer:
        writer.write({"a": 1})
        assert path.read_bytes() == b""
        writer.flush()
        assert path.read_bytes() == b'{"a":1}\n'
        for _ in range(10_000):
            writer.write({"a": 1})
        assert path.read_bytes().endswith(b"}\n")
        assert len(path.read_bytes()) > 10_000


@pytest.mark.parametrize(
    ("event", "slug"),
    [
        ({"a": object()}, "trace-cannot-encode"),
        ({(1, 2): 3}, "trace-cannot-encode"),
        ({"a": 10**5000}, "trace-cannot-encode"),
        ([1], "trace-not-an-object"),
    ],
)
@pytest.mark.parametrize("form", ["jsonl", "array", "values"])
def test_what_cannot_be_written_leaves_the_rest_intact(tmp_path: Path, event: Any, slug: str, form: Any) -> None:
    path = tmp_path / "t"
    with TraceWriter(path, format=form) as writer:
        writer.write({"a": 1})
        with pytest.raises(TraceError) as caught:
            writer.write(event)
        assert caught.value.slug == slug
        writer.write({"a": 2})
    assert read(path) == [{"a": 1}, {"a": 2}]


def test_too_deep() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    with TraceWriter(io.BytesIO()) as writer, pytest.raises(TraceError) as caught:
        writer.write({"a": deep})
    assert caught.value.slug == "trace-too-deep"


def test_places_that_cannot_be_written(tmp_path: Path) -> None:
    for path, slug in ((tmp_path, "trace-is-directory"), (tmp_path / "no" / "t", "trace-not-found")):
        for atomic in (False, True):
            with pytest.raises(TraceError) as caught:
                TraceWriter(path, atomic=atomic)
            assert (caught.value.slug, caught.value.where) == (slug, str(path))
            assert "standard input" not in (caught.value.hint or "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no full device here")
def test_a_full_disk_is_told() -> None:
    with pytest.raises(TraceError) as caught, TraceWriter("/dev/full", atomic=True) as writer:
        writer.write({"a": 1})
    assert (caught.value.slug, caught.value.where) == ("trace-io", "/dev/full")


def test_atomic_writing_replaces_at_the_end_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(b"old")
    with pytest.raises(RuntimeError), TraceWriter(path, atomic=True) as writer:
        writer.write_many(EVENTS)
        assert path.read_bytes() == b"old"
        raise RuntimeError
    assert [p.name for p in tmp_path.iterdir()] == ["t.jsonl"]
    assert path.read_bytes() == b"old"
    link = tmp_path / "link.jsonl"
    link.symlink_to(path)
    with TraceWriter(link, atomic=True) as writer:
        writer.write_many(EVENTS)
    assert link.is_symlink()
    assert read(path) == EVENTS
    assert len(list(tmp_path.iterdir())) == 2


def test_an_error_in_the_block_keeps_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl.gz"
    with pytest.raises(RuntimeError), TraceWriter(path) as writer:
        writer.write(EVENTS[0])
        raise RuntimeError
    assert read(path) == EVENTS[:1]


@pytest.mark.parametrize("name", ["t.jsonl", "t.json"])
def test_half_a_surrogate_pair_does_not_cut_a_trace_short(tmp_path: Path, name: str) -> None:
    events: list[dict[str, Any]] = [
        {"name": "before"},
        {"name": "odd", "args": ["\ud800x", {"\udcff": ["\udfff"]}]},
        {"name": "after"},
    ]
    with TraceWriter(tmp_path / name) as writer:
        writer.write_many(events)
    with open_trace(tmp_path / name) as reader:
        read = list(reader)
    assert read == [{"name": "before"}, {"name": "odd", "args": ["�x", {"�": ["�"]}]}, {"name": "after"}]

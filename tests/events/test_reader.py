"""Reading traces: formats, faults with their places, skipping, live streams, compression."""

from __future__ import annotations

import gzip
import io
import json
import os
import threading
from pathlib import Path
from typing import Any

import pytest
import zstandard

from events.trickle import everything, split_at, steadily
from lawful.errors import TraceError
from lawful.events import TraceReader, open_trace

A = b'{"event":"func_pre","name":"open","targetId":1}'
B = b'{"event":"func_post","name":"open","resultId":2,"args":[1,"x{]"],"kwargs":{"a":{"b":[]}}}'
EVENTS = [json.loads(A), json.loads(B)]


def fault_of(content: bytes, **options: Any) -> TraceError:
    with pytest.raises(TraceError) as caught, open_trace(io.BytesIO(content), **options) as reader:
        list(reader)
    return caught.value


@pytest.mark.parametrize(
    "content",
    [
        A + b"\n" + B + b"\n",
        A + b"\n" + B,
        A + b"\r\n\r\n \t\r\n" + B + b"\r\n\n",
        b"\xef\xbb\xbf" + A + b"\n" + B,
        b"\n\n  " + A + b"\n\t" + B,
        A + B,
        A + b" " + B + b" ",
        b"[" + A + b"," + B + b"]",
        b"\xef\xbb\xbf\n [\n" + A + b"\n,\n\n" + B + b"\n]\n\n",
        json.dumps(EVENTS, indent=2).encode(),
        b"\n".join(json.dumps(e, indent=2).encode() for e in EVENTS),
        b"".join(json.dumps(e, indent="\t").encode() for e in EVENTS),
        b"\r\n\r\n".join(json.dumps(e, indent=1).replace("\n", "\r\n").encode() for e in EVENTS),
    ],
)
@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress], ids=["plain", "gz", "zst"])
def test_every_form_of_a_trace_gives_the_same_events_however_it_is_cut(content: bytes, pack: Any) -> None:
    content = pack(content)
    assert everything(io.BytesIO(content)) == (EVENTS, 0, None)
    for size in (1, 2, 3, 7):
        assert everything(steadily(content, size)) == (EVENTS, 0, None)
    for position in range(len(content)):
        assert everything(split_at(content, position)) == (EVENTS, 0, None)


@pytest.mark.parametrize("content", [b"", b"\n", b" \r\n\t", b"\xef\xbb\xbf", b"[]", b" [ \n] \n"])
def test_a_trace_without_events_is_a_trace(content: bytes) -> None:
    assert everything(io.BytesIO(content)) == ([], 0, None)
    assert everything(steadily(content, 1)) == ([], 0, None)


BAD = [
    # content, slug, place, events before
    (A + b"\nhello\n" + B, "trace-bad-json", "2:1", 1),
    (A + b"\n" + A + b" hello\n", "trace-bad-json", f"2:{len(A) + 2}", 2),
    (A + b'\n{"a":NaN}\n', "trace-bad-json", "2:6", 1),
    (b'{"a":-Infinity}\n', "trace-bad-json", "1:7", 0),
    (b'{"a":01}\n', "trace-bad-json", "1:7", 0),
    (b'{"a":1,}\n', "trace-bad-json", "1:8", 0),
    (b"{'a':1}\n", "trace-bad-json", "1:2", 0),
    (A + b'\n{"a":1]\n', "trace-bad-json", "2:7", 1),
    (b'{"a":"x\ny"}\n', "trace-bad-json", "1:8", 0),
    (b'{"a":"x\\\ny"}\n', "trace-bad-json", "1:9", 0),
    (b'{"a":"\x01"}\n', "trace-bad-json", "1:7", 0),
    (b'{"a":"\\q"}\n', "trace-bad-json", "1:8", 0),
    (b'{"a":"\\u12\n"}\n', "trace-bad-json", "1:11", 0),
    (b'{"a":nul\n}\n', "trace-bad-json", "1:6", 0),
    (b'{"a":[1, fals\n]}\n', "trace-bad-json", "1:10", 0),
    (b'\n\n{"\xc3\xa9\xc3\xa9":x}\n', "trace-bad-json", "3:7", 0),
    (A + b'\n{"a":"\\ud800"}\n', "trace-bad-json", "2:7", 1),
    (A + b'\n{"a":"\\udc00"}\n', "trace-bad-json", "2:13", 1),
    (A + b'\n{"a":"\\ud800 and more"}\n', "trace-bad-json", "2:13", 1),
    (b'{\n "a": 1,\n "b": nope\n}\n', "trace-bad-json", "3:7", 0),
    (b'{"a":\n{"b":1}\n{"c":1}\n', "trace-bad-json", "3:1", 0),
    (b"\x1f", "trace-bad-json", "1:1", 0),
    (A + b"\n}\n", "trace-bad-json", "2:1", 1),
    (A + b"\n7\n", "trace-not-an-object", "2:1", 1),
    (A + b'\n "s" \n', "trace-not-an-object", "2:2", 1),
    (A + b"\n[1]\n", "trace-not-an-object", "2:1", 1),
    (A + b"\nnull\n", "trace-not-an-object", "2:1", 1),
    (b"true", "trace-not-an-object", "1:1", 0),
    (b"[1]", "trace-not-an-object", "1:1", 0),
    (b"2024-01-01 12:00\n", "trace-bad-json", "1:1", 0),
    (A + b'\n{"a":"\xff"}\n', "trace-bad-utf8", "2:7", 1),
    (b'{"\xc3\xa9":"\xed\xa0\x80"}\n', "trace-bad-utf8", "1:7", 0),
    (b"\xff\xfe{\x00", "trace-bad-utf8", "1:1", 0),
    (b'{"a":1e999}\n', "trace-bad-number", "1:1", 0),
    (A + b'\n{"a":' + b"9" * 5000 + b"}\n", "trace-bad-number", "2:1", 1),
    (A + b'\n{"a":' + b"[" * 50_000 + b"]" * 50_000 + b"}\n", "trace-too-deep", "2:1", 1),
    (A + b'\n{"a":' + b"[" * 300_000, "trace-too-deep", "2:1", 1),
    (A + b'\n{"a":1,"na', "trace-truncated", "2:1", 1),
    (A + b'\n{"a":1,\n', "trace-truncated", "2:1", 1),
    (A + b"\n{\n  ", "trace-truncated", "2:1", 1),
    (b"[", "trace-truncated", "1:2", 0),
    (b"[" + A, "trace-truncated", f"1:{len(A) + 2}", 1),
    (b"[" + A + b",\n", "trace-truncated", "2:1", 1),
    (b"[" + A + b',\n{"a":', "trace-truncated", "2:1", 1),
    (b"[" + A + b",]", "trace-bad-json", f"1:{len(A) + 3}", 1),
    (b"[\n" + A + b"\n" + B + b"]", "trace-bad-json", "3:1", 1),
    (b"[" + A + b"]\n" + B, "trace-bad-json", "2:1", 1),
    (b"[" + A + b",\n3]", "trace-not-an-object", "2:1", 1),
    (b"[" + A + b",\n" + A + b',\n{"a":NaN}]', "trace-bad-json", "3:6", 2),
    (b"BZh91AY", "trace-unknown-compression", None, 0),
    (b"\xfd7zXZ\x00\x00", "trace-unknown-compression", None, 0),
    (b"PK\x03\x04..", "trace-unknown-compression", None, 0),
    (b"\x1f\x8b\xff\xff", "trace-bad-compression", None, 0),
    (b"\x28\xb5\x2f\xfd" + b"\xff" * 40, "trace-bad-compression", None, 0),
    (gzip.compress(A, mtime=0) + b"junk", "trace-bad-compression", None, 0),
    (zstandard.compress(A + b"\n") + b"junk, and more of it", "trace-bad-compression", None, 1),
]


@pytest.mark.parametrize(("content", "slug", "place", "before"), BAD, ids=lambda value: str(value)[:30])
def test_a_fault_has_its_slug_and_place_and_events_before_it_are_delivered(
    content: bytes, slug: str, place: str | None, before: int
) -> None:
    where = "<stream>" if place is None else f"<stream>:{place}"
    events, _, fault = everything(io.BytesIO(content))
    assert fault == (slug, where)
    if slug != "trace-bad-compression":
        assert len(events) == before
        for source in (steadily(content, max(1, len(content) // 2000)), steadily(content, max(3, len(content) // 700))):
            assert everything(source) == (events, 0, fault)


def test_the_message_shows_what_was_found_and_what_to_do() -> None:
    assert fault_of(A + b'\n{"a":NaN, "rest":"' + b"x" * 100 + b'"}\n').render().split("\n") == [
        "error[trace-bad-json]: <stream>:2:6: this is not JSON: invalid character, "
        'found `NaN, "rest":"' + "x" * 24 + "...`",
        "  hint: JSON has no NaN and no Infinity: write null; "
        "--skip-bad-lines goes on after lines like this and counts them",
    ]
    assert "a number: `17`" in fault_of(b"17\n").message
    assert "0xff" in fault_of(b'{"a":"b\xff"}').message
    assert "--skip-bad-lines ignores" in str(fault_of(b'{"a').hint)
    assert "\x1b" not in fault_of(b"\x1b[31mred\n").render()
    assert "does not end on its line" in fault_of(b'{"a":"b\n').message


def test_every_beginning_of_a_line_is_a_truncated_line() -> None:
    line = b'{"a":-1.5e+3,"b":"x\\u00e9\xc3\xa9\\n\\ud83d\\ude00","c":[true,false,null],"d":{"k":12}}'
    for end in range(1, len(line)):
        content = A + b"\n" + line[:end]
        assert everything(io.BytesIO(content)) == (EVENTS[:1], 0, ("trace-truncated", "<stream>:2:1")), line[:end]
        assert everything(io.BytesIO(content), skip_bad=True) == (EVENTS[:1], 1, None)


SKIPPED = [
    # content, bad lines
    (b"\n".join([A, b"hello", B]), 1),
    (b"\n".join([b"hello", A, b"[1]", b"7", b"", B, b"}"]), 4),
    (b"\n".join([A, b'{"a":NaN}', b"  " + B]), 1),
    (b"\n".join([A, b'{"a":', B]), 1),
    (b"\n".join([b'{"a":', A, B]), 1),
    (b"\n".join([b'{"a":"cut', A, b'{"a":"\xff"}', B, b'{"a":1e999}']), 3),
    (b"\n".join([A, b'{"a":1,"b":[', b"hello", B]), 2),
    (b"\n".join([A, B, b'{"cut']), 1),
    (b"\n".join([A + b" " + B + b" hello " + A]), 1),
    (b"\n".join([b"{", b'  "a": {', b'    "b": oops', b"  },", b'  "c":', b"  {}", b"}", A, B]), 7),
    (b"\n".join([A, b"[2024-01-01] a line of a log", B]), 1),
    (b"\n".join([b"[2024-01-01] a line of a log", A, B]), 1),
    (b"\n".join([A, b"[", b"  {},", b"  {}", b"]", B]), 4),
    (b"\n".join([A, b'{"a":' + b"[" * 50_000 + b"}", B]), 1),
]


@pytest.mark.parametrize(("content", "bad_lines"), SKIPPED, ids=lambda value: str(value)[:40])
def test_skipping_goes_on_and_counts(content: bytes, bad_lines: int) -> None:
    for end in (b"", b"\n", b"\r\n"):
        assert everything(io.BytesIO(content + end), skip_bad=True) == (EVENTS, bad_lines, None)
        for size in (1, 2, 5, 64) if len(content) < 1000 else (1000,):
            assert everything(steadily(content + end, size), skip_bad=True) == (EVENTS, bad_lines, None)


def test_a_spoilt_array_is_given_up_even_when_bad_lines_are_skipped() -> None:
    content = b"[" + A + b",\nnonsense,\n" + B + b"]"
    assert everything(io.BytesIO(content), skip_bad=True) == (EVENTS[:1], 0, ("trace-bad-json", "<stream>:2:1"))


@pytest.mark.parametrize("form", ["lines", "one line", "array", "spread"])
def test_an_event_may_not_be_larger_than_the_limit(form: str) -> None:
    def content(size: int) -> bytes:
        large = b'{"a":"' + b"x" * (size - 8) + b'"}'
        if form == "spread":
            large = large.replace(b":", b":\n", 1)[:-3] + b'"}'
        assert len(large) == size
        return {
            "lines": b"\n".join([A, large, A]),
            "spread": b"\n".join([A, large, A]),
            "one line": A + large + A,
            "array": b"[%b,%b,%b]" % (A, large, A),
        }[form]

    for size, fits in ((1000, True), (1001, False)):
        for source in (io.BytesIO(content(size)), steadily(content(size), 13)):
            events, _, fault = everything(source, max_value=1000)
            assert len(events) == (3 if fits else 1)
            assert fits == (fault is None)
            if fault:
                assert fault[0] == "trace-value-too-large"
                assert str(fault[1]).startswith("<stream>:2:1" if form in ("lines", "spread") else "<stream>:1:")
    if form == "lines":
        assert everything(io.BytesIO(content(1001)), max_value=1000, skip_bad=True) == ([EVENTS[0]] * 2, 1, None)
        assert everything(steadily(content(1001), 13), max_value=1000, skip_bad=True) == ([EVENTS[0]] * 2, 1, None)


class Endless:
    """Gives the same bytes for ever, and refuses to be asked after a while."""

    def __init__(self, piece: bytes) -> None:
        self.piece = piece
        self.asked = 0

    def read(self, limit: int) -> bytes:
        self.asked += 1
        assert self.asked < 1000, "reading does not stop"
        return self.piece


@pytest.mark.parametrize("piece", [b'{"a":"' * 100, b"[" * 1000, b'{"a":[\n' * 50, b"x" * 1000])
def test_a_value_that_never_ends_is_refused(piece: bytes) -> None:
    head = b'{"a":"b' if piece == b"x" * 1000 else b""
    source: Any = Endless(piece)
    if head:
        source.read = lambda limit, read=source.read, once=[head]: once.pop() if once else read(limit)
    with pytest.raises(TraceError), open_trace(source, max_value=100_000) as reader:
        list(reader)


def test_what_is_large_passes_in_small_memory() -> None:
    tracemalloc = pytest.importorskip("tracemalloc")
    for first, piece in ((b"", A + b"\n"), (b"", A), (b"[" + A, b"," + A), (b"", A.replace(b",", b",\n"))):
        content = first + piece * 100_000
        if first:
            content += b"]"
        source = io.BytesIO(content)
        tracemalloc.start()
        with open_trace(source) as reader:
            count = sum(map(len, reader.batches()))
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert count == 100_000 + bool(first)
        assert peak < 12_000_000, piece


def test_a_gzip_bomb_is_read_piece_by_piece() -> None:
    for pack in (gzip.compress, zstandard.compress):
        events, _, fault = everything(io.BytesIO(pack(b" " * 100_000_000)))
        assert (events, fault) == ([], None)


def test_large_events_and_deep_ones() -> None:
    large = {"a": 'x\\"\n' * 300_000, "b": [{"c": [{"d": [i]}]} for i in range(1000)]}
    deep: Any = {}
    for _ in range(300):
        deep = {"a": [deep]}
    for indent in (None, 1):
        text = "\n".join(json.dumps(e, indent=indent) for e in (large, deep, large)).encode()
        assert everything(io.BytesIO(text)) == ([large, deep, large], 0, None)
        assert everything(steadily(text, 4096)) == ([large, deep, large], 0, None)
        array = json.dumps([large, deep, large], indent=indent).encode()
        assert everything(steadily(array, 4096)) == ([large, deep, large], 0, None)


def test_the_last_of_equal_keys_wins_and_large_integers_are_exact() -> None:
    assert everything(io.BytesIO(b'{"a":1,"a":2}'))[0] == [{"a": 2}]
    assert everything(io.BytesIO(b'{"a":%d}' % 10**400))[0] == [{"a": 10**400}]


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress], ids=["gz", "zst"])
def test_compressed_parts_one_after_the_other(pack: Any) -> None:
    content = pack(A + b"\n" + B[:20]) + pack(B[20:]) + pack(b"") + pack(b"\n" + A)
    for source in (io.BytesIO(content), steadily(content, 1), steadily(content, 7)):
        assert everything(source) == ([*EVENTS, EVENTS[0]], 0, None)


def test_zeros_after_gzip_data_are_padding() -> None:
    content = gzip.compress(A, mtime=0) + b"\0" * 100
    assert everything(io.BytesIO(content)) == everything(steadily(content, 3)) == (EVENTS[:1], 0, None)


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress], ids=["gz", "zst"])
def test_compressed_data_that_is_cut(pack: Any) -> None:
    import random

    numbers = random.Random(1)
    text = b"".join(b'{"event":"new","targetId":%d}\n' % numbers.randrange(1 << 60) for _ in range(50_000))
    content = pack(text)
    cut = content[: len(content) // 2]
    events, bad_lines, fault = everything(io.BytesIO(cut))
    assert 0 < len(events) < 50_000
    assert (bad_lines, fault) == (0, ("trace-truncated", "<stream>"))
    again, bad_lines, fault = everything(io.BytesIO(cut), skip_bad=True)
    assert (again[: len(events)], bad_lines, fault) == (events, 1, None)


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress], ids=["plain", "gz", "zst"])
def test_position_and_size_are_those_of_the_file(tmp_path: Path, pack: Any) -> None:
    path = tmp_path / "trace"
    path.write_bytes(pack(b"\n".join([A, B] * 1000)))
    with open_trace(path) as reader:
        assert (reader.name, reader.size, reader.bytes_read, reader.events) == (str(path), path.stat().st_size, 0, 0)
        assert list(reader) == EVENTS * 1000
        assert (reader.bytes_read, reader.events) == (reader.size, 2000)
    with open_trace(io.BytesIO(A)) as reader:
        assert reader.size is None


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    locked = tmp_path / "locked"
    locked.write_bytes(A)
    locked.chmod(0)
    expected = {str(tmp_path / "none"): "trace-not-found", str(tmp_path): "trace-is-directory"}
    if os.geteuid() != 0:
        expected[str(locked)] = "trace-no-permission"
    for path, slug in expected.items():
        with pytest.raises(TraceError) as caught:
            open_trace(path)
        assert (caught.value.slug, caught.value.where) == (slug, path)
    with pytest.raises(TraceError) as caught:
        open_trace("a\0b")
    assert caught.value.slug == "trace-not-found"


def test_permission_denied_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **options: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("builtins.open", refuse)
    with pytest.raises(TraceError) as caught:
        open_trace("secret.jsonl")
    assert (caught.value.slug, caught.value.where) == ("trace-no-permission", "secret.jsonl")


def test_a_read_that_fails_is_a_trace_error() -> None:
    class Broken(io.BytesIO):
        def read1(self, size: int | None = -1, /) -> bytes:
            raise OSError(5, "Input/output error")

    assert everything(Broken()) == ([], 0, ("trace-io", "<stream>"))


@pytest.mark.parametrize("pack", [None, "gz", "zst"])
def test_a_live_stream_is_delivered_line_by_line(pack: str | None) -> None:
    from lawful.events import TraceWriter

    read_end, write_end = os.pipe()
    with open(read_end, "rb", buffering=0) as source, open(write_end, "wb", buffering=0) as sink:
        writer = TraceWriter(sink, compression=pack or "none")  # type: ignore[arg-type]
        reader: TraceReader = open_trace(source)
        batches = reader.batches()
        for number in range(5):
            writer.write({"event": "new", "targetId": number})
            writer.flush()
            # If it were not delivered at once this would wait for ever.
            assert next(batches) == [{"event": "new", "targetId": number}]
        writer.close()
        sink.close()
        assert list(batches) == []
        reader.close()
        assert not source.closed


def test_spread_values_on_a_live_stream_are_delivered_when_their_last_line_arrives() -> None:
    read_end, write_end = os.pipe()
    with (
        open(read_end, "rb", buffering=0) as source,
        open(write_end, "wb", buffering=0) as sink,
        open_trace(source) as reader,
    ):
        for _ in range(3):
            later = threading.Timer(0.02, sink.write, [b'  "a": [\n1]\n}\n'])
            later.start()
            sink.write(b"{\n")
            assert next(reader.batches()) == [{"a": [1]}]
            later.join()


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(A + b"\n1")))
    with open_trace("-") as reader:
        assert reader.name == "<stdin>"
        with pytest.raises(TraceError) as caught:
            list(reader)
    assert caught.value.where == "<stdin>:2:1"


def test_reading_can_stop_and_go_on() -> None:
    with open_trace(io.BytesIO(b"[" + A + b"," + B + b"]")) as reader:
        first = next(reader.batches())
        assert first + [event for batch in reader.batches() for event in batch] == EVENTS


def test_a_trace_is_read_once() -> None:
    for content in (A + b"\n" + B, b""):
        reader = open_trace(io.BytesIO(content))
        list(reader)
        with pytest.raises(ValueError, match="this trace was read already; open it again"):
            for _ in reader:
                pass


def test_the_rest_can_be_drained() -> None:
    source = io.BytesIO(gzip.compress((A + b"\n") * 3) + b"x" * 100_000)
    reader = open_trace(source)
    next(reader.batches())
    reader.drain()
    assert source.read() == b""
    assert list(reader.batches()) == []


@pytest.mark.parametrize("content", [b"oops\n", b'{"a":\nhello\n', gzip.compress(b"x" * 1000, mtime=0)[:-9]])
def test_bad_lines_alone_are_no_trace(content: bytes) -> None:
    fault = fault_of(content, skip_bad=True)
    assert (fault.slug, fault.where, fault.hint) == ("trace-no-events", "<stream>", "is this the right file?")


def test_a_law_is_no_trace(tmp_path: Path) -> None:
    path = tmp_path / "files.rml"
    path.write_text("Main = empty;\n")
    with open_trace(path, skip_bad=True) as reader, pytest.raises(TraceError) as caught:
        list(reader)
    assert (caught.value.slug, caught.value.where) == ("trace-no-events", str(path))
    assert caught.value.hint == "this looks like a law; a trace was expected"


def test_hints_about_commas_and_arrays() -> None:
    assert str(fault_of(A + b",\n" + B).hint).startswith("remove the comma: only in an array ")
    assert fault_of(b"[" + A + b",]").hint == "remove the comma before the bracket"
    for element in (
        b"3",
        b"oops",
        b'{"a":NaN}',
        b'{"a":oops}',
        b'{"a":"\xff"}',
        b'{"a":1e999}',
        b'{"a":' + b"[" * 50_000,
    ):
        assert "--skip-bad-lines" not in fault_of(b"[" + A + b",\n" + element + b"]").render()
        assert "--skip-bad-lines" in fault_of(A + b"\n" + element + b"\n").render()


def test_closing_ends_reading(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_bytes(A)
    reader = open_trace(path)
    reader.close()
    assert list(reader) == []


def test_long_spoilt_traces_are_read_alike_in_chunks_of_any_size_and_in_linear_time() -> None:
    import random

    numbers = random.Random(2)
    kinds = [
        A,
        A,
        A,
        B,
        b"nonsense",
        b'{"a":',
        b'{"a":"cut',
        b"[1]",
        b'{\n  "a": {\n  "b": 1}\n}',
        b'{\n  "a": x\n}',
        A + B,
    ]
    content = b"\n".join(numbers.choice(kinds) for _ in range(20_000))
    whole = everything(io.BytesIO(content), skip_bad=True)
    assert whole[1] > 1000
    assert whole[2] is None
    for size in (100, 999, 65536):
        assert everything(steadily(content, size), skip_bad=True) == whole

"""The speed of RML laws: whole checks beside plain decoding, the engine alone, its Python twin, a dict and reelay.

Every measurement is a process of its own and counts its CPU seconds; repetitions of all of them are interleaved, and
the least is taken. So compare the numbers of one run with each other, not with those of another run or machine.
"""

from __future__ import annotations

import argparse
import gc
import importlib
import importlib.util
import json
import os
import platform
import random
import resource
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
from tables import progress, table

EXAMPLES = Path(__file__).resolve().parent.parent / "examples" / "rml"
FIRST_ID = 10_000_000  # all ids have eight digits, so that lines are equally long however many objects live
PIECE = 64 * 1024
BATCH = 1024

# -- laws --------------------------------------------------------------------------------------------------------------

LETTERS = "a matches {n: 'a'};\nb matches {n: 'b'};\n"
FILES = """
open(f) matches {event: 'func_post', name: 'open', resultId: f};
rd(f) matches {event: 'func_pre', name: 'read', targetId: f};
close(f) matches {event: 'func_pre', name: 'close', targetId: f};
"""
AB = LETTERS + "Main = (a b)*;"
FILTER = LETTERS + "ab matches a | b;\nMain = ab >> (a b)*;"
SHUFFLE = FILES + "Main = {let f; open(f) (File<f> | Main)}?;\nFile<f> = rd(f)* close(f);"
CONTROL = FILES + "known matches open(_) | rd(_) | close(_);\nMain = known*;"
INTERSECTION = FILES + (
    "ev(f) matches rd(f) | close(f);\nnot_open not matches open(_);\n"
    "Main = not_open* {let f; open(f) ((ev(f) >> rd(f)* close(f)) /\\ Main)}?;"
)
REELAY = (
    "forall[f]. (({name: read, targetId: *f} or {name: close, targetId: *f}) -> "
    "pre ((not {name: close, targetId: *f}) since {name: open, resultId: *f}))"
)


def example(name: str) -> str:
    return (EXAMPLES / f"{name}.rml").read_text(encoding="utf-8")


# -- traces that these laws accept: lines ------------------------------------------------------------------------------


def letters(events: int, others: float = 0.0) -> Iterator[str]:
    """`a` and `b` by turns, and in between, where wanted, something else."""
    choose = random.Random(1)
    turn = 0
    for left in range(events, 0, -1):
        if (turn and left == 1) or (not (turn and left == 2) and choose.random() >= others and (turn or left > 1)):
            yield '{"n":"b"}' if turn else '{"n":"a"}'
            turn ^= 1
        else:
            yield '{"n":"c"}'


def files(events: int, live: int, total: int) -> Iterator[str]:
    """`total` files opened, read and closed, `live` at a time; whatever `live` is, the lines differ in order only."""
    choose = random.Random(2)
    now = list(range(FIRST_ID, FIRST_ID + live))
    fresh = FIRST_ID + live
    for each in now:
        yield _opened(each)
    replaced = total - live
    for left in range(events - 2 * total + replaced, 0, -1):
        at = choose.randrange(live)
        if choose.random() * left < replaced:
            yield _call("close", now[at])
            yield _opened(fresh)
            now[at] = fresh
            fresh += 1
            replaced -= 1
        else:
            yield _call("read", now[at])
    for each in now:
        yield _call("close", each)


def _opened(file: int) -> str:
    return f'{{"event":"func_post","name":"open","resultId":{file}}}'


def _call(name: str, file: int) -> str:
    return f'{{"event":"func_pre","name":"{name}","targetId":{file}}}'


def hash_sets(events: int, live: int) -> Iterator[str]:
    """Sets that are filled and emptied at random, up to eight elements in each; no element is ever changed."""
    choose = random.Random(3)
    for number in range(live):
        yield f'{{"event":"func_post","name":"HashSet","resultId":{FIRST_ID + number}}}'
    inside: list[list[int]] = [[] for _ in range(live)]
    fresh = 2 * FIRST_ID
    for _ in range(events - live):
        number = choose.randrange(live)
        elements = inside[number]
        chance = choose.random()
        if chance < 0.3 and len(elements) < 8:
            elements.append(fresh)
            yield _changed("add", number, fresh, True)
            fresh += 1
        elif chance < 0.6 and elements:
            yield _changed("remove", number, elements.pop(choose.randrange(len(elements))), True)
        else:
            yield _changed("contains", number, elements[0] if elements else fresh, bool(elements))


def _changed(name: str, number: int, element: int, result: bool) -> str:
    return (
        f'{{"event":"func_post","name":"{name}","targetId":{FIRST_ID + number},"argIds":[{element}],'
        f'"res":{"true" if result else "false"}}}'
    )


def queue(events: int, live: int) -> Iterator[str]:
    """A queue that is filled, keeps its length, and is emptied."""
    pairs = events // 2
    for number in range(pairs + live):
        if number < pairs:
            yield f'{{"event":"func_post","name":"put","args":[{FIRST_ID + number}]}}'
        if number >= live:
            yield f'{{"event":"func_post","name":"get","res":{FIRST_ID + number - live}}}'


def counter(events: int) -> Iterator[str]:
    """Counts up, and begins anew now and then."""
    choose = random.Random(4)
    value = 0
    for _ in range(events):
        yield f'{{"event":"field_write","name":"Counter.value","res":{value}}}'
        value = 0 if value >= 3 and choose.random() < 0.01 else value + 1


def calls(events: int, live: int) -> Iterator[str]:
    """Calls that nest `live` deep, return to half the depth at random, and all return in the end."""
    choose = random.Random(5)
    stack: list[int] = []
    for left in range(events - events % 2, 0, -1):
        deeper = len(stack) < live // 2 or (len(stack) < live and choose.random() < 0.5)
        if deeper and len(stack) < left:
            stack.append(choose.randrange(FIRST_ID, 9 * FIRST_ID))
            yield f'{{"event":"func_pre","name":"f{stack[-1]}"}}'
        else:
            yield f'{{"event":"func_post","name":"f{stack.pop()}"}}'


@dataclass(frozen=True)
class Row:
    """A law over a trace. Names are cells of Markdown tables: no bars."""

    name: str
    law: str
    live: int | None
    trace: str
    lines: Callable[[], Iterator[str]]
    peers: bool = False  # open, use, close: the law that the peers are asked too
    group: str = ""

    @property
    def precise(self) -> bool:
        """Does a target depend on more than the time of its check?"""
        return self.live in (None, 100) or self.group == "intersection"


def file_row(name: str, law: str, events: int, live: int, share: float, group: str) -> Row:
    total = round(events * share)
    return Row(
        name, law, live, f"files-{events}-{live}-{total}", lambda: files(events, live, total), group != "control", group
    )


def sized_rows(
    group: str,
    name: str,
    law: str,
    lines: Callable[[int, int], Iterator[str]],
    events: int,
    sizes: list[int],
    wanted: tuple[int, ...],
) -> list[Row]:
    """A law of the examples with several numbers of live instances."""
    return [
        Row(name, example(law), live, f"{group}-{live}", partial(lines, events, live), group=group)
        for live in wanted
        if live in sizes
    ]


def plan(events: int) -> list[Row]:
    shuffle, control = "open / use / close by shuffle", "control: no instances"
    sizes = [size for size in (1, 10, 100, 1_000, 10_000, 100_000) if size <= events / 10]
    rows = [
        Row("`(a b)*`", AB, None, "ab", lambda: letters(events)),
        Row("filter, half of it other events", FILTER, None, "filter", lambda: letters(events, 0.5)),
    ]
    for size in sizes:
        rows.append(file_row(shuffle, SHUFFLE, events, size, 0.15, "shuffle"))
        rows.append(file_row(control, CONTROL, events, size, 0.15, "control"))
    hundred = min(100, sizes[-1])
    rows.append(file_row("the same, a quarter of the trace", SHUFFLE, events // 4, hundred, 0.15, "quarter"))
    rows += sized_rows("sets", "safe hash sets", "safe_hash_set", hash_sets, events, sizes, (10, 1_000))
    rows += sized_rows("fifo", "FIFO queue", "fifo", queue, events, sizes, (10, 1_000))
    for live, how in ((1, "one after the other"), (hundred, "interleaved")):
        name = f"intersection, {round(events * 0.1):,} files {how}"
        rows.append(file_row(name, INTERSECTION, events, live, 0.1, "intersection"))
    rows.append(Row("counter with a generic", example("counter"), None, "counter", lambda: counter(events)))
    rows += sized_rows("stack", "stack of calls", "nesting", calls, events, sizes, (10, 10_000))
    return rows


# -- what is measured, each in a process of its own --------------------------------------------------------------------


def decode_at_once(job: dict[str, Any]) -> float:
    began = time.process_time()
    with open(job["trace"], "rb") as trace:
        msgspec.json.Decoder().decode_lines(trace.read())
    return time.process_time() - began


def decode_by_line(job: dict[str, Any]) -> float:
    began = time.process_time()
    decode = msgspec.json.Decoder().decode
    with open(job["trace"], "rb") as trace:
        for line in trace:
            decode(line)
    return time.process_time() - began


def decode_in_pieces(job: dict[str, Any]) -> float:
    began = time.process_time()
    decode = msgspec.json.Decoder().decode_lines
    rest = b""
    with open(job["trace"], "rb") as trace:
        while piece := trace.read(PIECE):
            cut = piece.rfind(b"\n") + 1
            decode(rest + piece[:cut])
            rest = piece[cut:]
    return time.process_time() - began


def engine(job: dict[str, Any]) -> dict[str, float]:
    from lawful.laws import rml

    monitor = rml.compile(Path(job["law"]).read_text(encoding="utf-8")).monitor()
    result = in_memory(job, monitor.feed)
    if monitor.rejected_at is not None:
        raise SystemExit(f"{job['law']} rejects event {monitor.rejected_at} of {job['trace']}")
    return result


def dictionary(job: dict[str, Any]) -> dict[str, float]:
    """The floor: what somebody would write who needs this one law only."""
    state: dict[int, bool] = {}
    violations = []

    def feed(events: list[dict[str, Any]]) -> None:
        for event in events:
            name = event["name"]
            if name == "read":
                if event["targetId"] not in state:
                    violations.append(event)
            elif name == "open":
                state[event["resultId"]] = True
            elif name == "close" and state.pop(event["targetId"], None) is None:
                violations.append(event)

    return in_memory(job, feed)


def reelay(job: dict[str, Any]) -> dict[str, float]:
    peer = importlib.import_module("reelay")
    monitor = peer.discrete_timed_monitor(pattern=REELAY, semantics="boolean", condense=True)

    def feed(events: list[dict[str, str]]) -> None:
        for event in events:
            monitor.update(event)

    # It takes strings only; that they are made is not counted.
    return in_memory(job, feed, lambda event: {key: str(value) for key, value in event.items()})


def in_memory(
    job: dict[str, Any],
    feed: Callable[[Any], object],
    convert: Callable[[dict[str, Any]], dict[str, Any]] | None = None,
) -> dict[str, float]:
    """The seconds for `feed` alone, and for the first and last tenth, over batches that were just decoded."""
    gc.disable()
    spent: list[tuple[int, float]] = []
    seen = 0
    for batch in decoded(job["trace"], job["events"]):
        events = batch if convert is None else [convert(event) for event in batch]
        began = time.process_time()
        feed(events)
        took = time.process_time() - began
        seen += len(events)
        if seen > job["opening"]:
            spent.append((len(events), took))
    tenth = max(1, len(spent) // 10)
    return {"rate": rate(spent), "first": rate(spent[:tenth]), "last": rate(spent[-tenth:])}


def decoded(path: str, events: int) -> Iterator[list[dict[str, Any]]]:
    decode = msgspec.json.Decoder().decode_lines
    with open(path, "rb") as trace:
        lines = islice(trace, events)
        while batch := b"".join(islice(lines, BATCH)):
            yield decode(batch)


def rate(spent: list[tuple[int, float]]) -> float:
    return sum(events for events, _ in spent) / max(1e-9, sum(seconds for _, seconds in spent))


def residue(job: dict[str, Any]) -> float:
    """Bytes that a closed file leaves behind in the intersection form."""
    from lawful.laws import rml

    few: int = job["few"]
    many: int = job["many"]
    monitor = rml.compile(INTERSECTION).monitor()
    resident = 0
    for number in range(0, many, 100):
        if number == few:
            resident = resident_bytes()
        monitor.feed([event for file in range(number, number + 100) for event in session(FIRST_ID + file)])
    if monitor.rejected_at is not None:
        raise SystemExit("the intersection form rejects a file that was opened, read and closed")
    return (resident_bytes() - resident) / (many - few)


def session(file: int) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (_opened(file), _call("read", file), _call("close", file))]


def resident_bytes() -> int:
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


WORKERS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "at once": decode_at_once,
    "by line": decode_by_line,
    "in pieces": decode_in_pieces,
    "engine": engine,
    "dictionary": dictionary,
    "reelay": reelay,
    "residue": residue,
}


def work(kind: str, core: str = "", **job: Any) -> Any:
    command = [sys.executable, __file__, "--worker", kind, json.dumps(job)]
    done = subprocess.run(command, env=os.environ | {"LAWFUL_CORE": core}, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


@dataclass
class Check:
    """One run of ``lawful check``."""

    cpu: float
    wall: float
    peak: int  # bytes


def check(law: Path, trace: Path) -> Check:
    command = [sys.executable, "-m", "lawful", "check", str(law), "--trace", str(trace), "--format", "json"]
    began = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
        assert child.stdout is not None and child.stderr is not None
        output, errors = child.stdout.read(), child.stderr.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - began
    if child.returncode or not all(entry["accepted"] for entry in json.loads(output)["laws"]):
        raise SystemExit(f"{law} does not accept {trace}:\n{output.decode()}{errors.decode()}")
    return Check(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss * 1024)


# -- the run -----------------------------------------------------------------------------------------------------------


@dataclass
class Result:
    """What was measured of a row: all repetitions."""

    row: Row
    events: int = 0
    checks: list[Check] = field(default_factory=list)
    decodes: dict[str, list[float]] = field(default_factory=dict)
    engines: list[dict[str, float]] = field(default_factory=list)
    peers: dict[str, float] = field(default_factory=dict)

    @property
    def cpu(self) -> float:
        return min(check.cpu for check in self.checks)

    @property
    def wall(self) -> float:
        return min(check.wall for check in self.checks)

    @property
    def peak(self) -> int:
        return min(check.peak for check in self.checks)

    @property
    def per_second(self) -> float:
        return self.events / self.cpu

    @property
    def engine(self) -> float:
        return max(each["rate"] for each in self.engines)

    @property
    def ageing(self) -> float:
        """How much slower the engine is in the last tenth of the trace than in the first."""
        return min(each["first"] / each["last"] for each in self.engines)

    def decode(self, kind: str) -> float:
        return min(self.decodes[kind])

    def ratio(self, kind: str) -> float:
        return self.cpu / self.decode(kind)


DECODES = ("at once", "by line", "in pieces")


class Bench:
    """Writes the traces, measures, and keeps what was measured."""

    def __init__(self, events: int, repetitions: int, folder: Path) -> None:
        self.events = events
        self.repetitions = repetitions
        self.folder = folder
        self.results = [Result(row) for row in plan(events)]
        self.startup: list[float] = []
        self.residue = 0.0

    def run(self) -> None:
        for result in self.results:
            result.events = self.write(result.row)
        for repetition in range(self.repetitions):
            progress(f"repetition {repetition + 1} of {self.repetitions}")
            self.startup.append(check(self.law(self.results[0].row), self.empty()).cpu)
            for result in self.results:
                self.measure(result)
            # The shortest runs suffer most from what else the machine does, and flatness compares rows with each
            # other: both get a second look.
            for result in self.results[:2]:
                self.measure(result)
            for result in group(self, "shuffle") + group(self, "control"):
                result.checks.append(check(self.law(result.row), self.trace(result.row)))
        progress("peers")
        for result in self.results:
            self.measure_peers(result)
        self.residue = work("residue", few=self.events // 100, many=self.events // 100 + self.events // 10)

    def write(self, row: Row) -> int:
        self.law(row).write_text(row.law, encoding="utf-8")
        path = self.trace(row)
        if not path.exists():
            progress(f"writing {path.name}")
            with open(path, "w", encoding="utf-8") as trace:
                trace.writelines(f"{line}\n" for line in row.lines())
        with open(path, "rb") as lines:
            return sum(1 for _ in lines)

    def law(self, row: Row) -> Path:
        return self.folder / f"law-{zlib.crc32(row.law.encode())}.rml"

    def trace(self, row: Row) -> Path:
        return self.folder / f"{row.trace}.jsonl"

    def empty(self) -> Path:
        path = self.folder / "empty.jsonl"
        path.touch()
        return path

    def measure(self, result: Result) -> None:
        trace = self.trace(result.row)
        result.checks.append(check(self.law(result.row), trace))
        if result.row.group == "control" or (result.engines and not result.row.precise):
            return
        for kind in DECODES:
            result.decodes.setdefault(kind, []).append(work(kind, trace=str(trace)))
        result.engines.append(self.in_memory("engine", result, result.events))

    def measure_peers(self, result: Result) -> None:
        if result.row.group == "control":
            return
        # For the slow ones a part of the trace is enough, after everything was opened.
        opening = result.row.live or 0
        part = opening + result.events // 20
        result.peers["twin"] = self.in_memory("engine", result, part, opening, core="python")["rate"]
        if result.row.peers:
            result.peers["dictionary"] = self.in_memory("dictionary", result, result.events)["rate"]
            if importlib.util.find_spec("reelay"):
                result.peers["reelay"] = self.in_memory("reelay", result, part, opening)["rate"]

    def in_memory(self, kind: str, result: Result, events: int, opening: int = 0, core: str = "") -> dict[str, float]:
        """Measure the first `events` events of a trace, but for the first `opening` ones."""
        law, trace = str(self.law(result.row)), str(self.trace(result.row))
        done: dict[str, float] = work(kind, core, trace=trace, law=law, events=events, opening=opening)
        return done


# -- the tables --------------------------------------------------------------------------------------------------------


def report(bench: Bench) -> Iterator[str]:
    from lawful import __version__, core

    times = "repetition" if bench.repetitions == 1 else "repetitions"
    yield f"Lawful {__version__} {core.describe()}, CPython {platform.python_version()}, {platform.machine()},"
    yield f"{os.cpu_count()} cores; {bench.events:,} events, {bench.repetitions} {times}."
    yield f"Start-up of `lawful check`, included in every check below: {min(bench.startup):.2f} CPU s."
    yield ""
    head = "law|live|decode, s: at once / by line / in pieces|check, CPU s|wall s|check ÷ decode|check, events/s"
    yield from table(
        f"{head}|engine alone|Python twin|dict|reelay".split("|"),
        [speed_cells(result) for result in bench.results if result.row.group != "control"],
    )
    yield from ["", "Flatness and memory: time per event and peak memory of the whole check.", ""]
    head = "live|law, ns/event|to 10 live|control, ns/event|to 10 live|law, peak MB|control, peak MB"
    yield from table(head.split("|"), flat_cells(bench))
    yield from ["", "Targets, for a million events (with fewer, the start-up decides).", ""]
    yield from table("target|measured|".split("|"), targets(bench))


def speed_cells(result: Result) -> list[str]:
    return [
        result.row.name,
        number(result.row.live),
        " / ".join(f"{result.decode(kind):.2f}" for kind in DECODES),
        f"{result.cpu:.2f}",
        f"{result.wall:.2f}",
        " / ".join(f"{result.ratio(kind):.1f}" for kind in DECODES),
        thousands(result.per_second),
        thousands(result.engine),
        *(thousands(result.peers.get(peer)) for peer in ("twin", "dictionary", "reelay")),
    ]


def number(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f}"


def thousands(value: float | None) -> str:
    return "-" if value is None else f"{value / 1000:,.0f} k"


def group(bench: Bench, name: str) -> list[Result]:
    return [result for result in bench.results if result.row.group == name]


def with_live(results: list[Result], live: int) -> Result:
    """The row with so many live instances, or with the most there are."""
    return max((each for each in results if (each.row.live or 0) <= live), key=lambda each: each.row.live or 0)


def flat_cells(bench: Bench) -> list[list[str]]:
    laws, controls = group(bench, "shuffle"), group(bench, "control")
    rows = []
    for law, control in zip(laws, controls, strict=True):
        cells = [number(law.row.live)]
        for result, base in ((law, with_live(laws, 10)), (control, with_live(controls, 10))):
            cells += [f"{result.cpu / result.events * 1e9:.0f}", f"{slower(result, base):.2f}"]
        rows.append([*cells, f"{law.peak / 1e6:.0f}", f"{control.peak / 1e6:.0f}"])
    return rows


def slower(result: Result, base: Result) -> float:
    return (result.cpu / result.events) / (base.cpu / base.events)


def targets(bench: Bench) -> list[list[str]]:
    files, sets, fifo = (group(bench, name) for name in ("shuffle", "sets", "fifo"))
    quarter = group(bench, "quarter")[0]
    few, most = with_live(files, 10), files[-1]
    hundred, thousand = with_live(files, 100), with_live(files, 1_000)
    lines = []
    for result in (bench.results[0], bench.results[1], hundred):
        for kind in DECODES:
            name = f"{result.row.name}: check at most 2.5x decoding {kind}"
            lines.append(at_most(name, result.ratio(kind), 2.5, "x"))
    control = group(bench, "control")
    noise = slower(control[-1], with_live(control, 10))
    lines.append(at_most(f"{few.row.live} to {most.row.live:,} live: time within 1.3x", slower(most, few), 1.3, "x"))
    lines.append(["  the control law over the same traces", f"{noise:.2f} x", ""])
    lines += memory_targets(few, most, hundred, quarter)
    for results in (sets, fifo):
        last = results[-1]
        name = f"{last.row.name}, {number(last.row.live)} live"
        lines.append(at_least(f"{name}: check at least 300 k events/s", last.per_second / 1000, 300, "k/s"))
        lines.append(at_most(f"{name}: flat, against {results[0].row.live} live", slower(last, results[0]), 1.3, "x"))
    for result in group(bench, "intersection"):
        name = result.row.name
        lines.append(at_least(f"{name}: check at least 300 k events/s", result.per_second / 1000, 300, "k/s"))
        lines.append(at_most(f"{name}: flat, engine's last to first tenth", result.ageing, 1.3, "x"))
    lines.append(at_most("intersection: a closed file leaves less than 100 bytes", bench.residue, 100, "bytes"))
    lines.append(at_least("20x the original at 1 live (53 k/s)", files[0].per_second / 53_000, 20, "x"))
    lines.append(at_least("1000x the original at 1,000 live (207/s)", thousand.per_second / 207, 1000, "x"))
    return lines


def memory_targets(few: Result, most: Result, hundred: Result, quarter: Result) -> list[list[str]]:
    more = (most.row.live or 0) - (few.row.live or 0)
    per_file = (most.peak - few.peak) / max(1, more)
    return [
        [f"  memory per live file, {few.row.live} to {most.row.live:,} live", f"{per_file:.0f} bytes", ""],
        at_most("memory at 4x the length of the trace, 100 live: the same", hundred.peak / quarter.peak, 1.1, "x"),
    ]


def at_most(name: str, value: float, limit: float, unit: str) -> list[str]:
    return [name, f"{value:,.2f} {unit}", "ok" if value <= limit else "MISSED"]


def at_least(name: str, value: float, limit: float, unit: str) -> list[str]:
    return [name, f"{value:,.0f} {unit}", "ok" if value >= limit else "MISSED"]


# -- the command -------------------------------------------------------------------------------------------------------


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure RML laws: whole checks beside decoding, and the peers.")
    parser.add_argument("--events", type=int, default=None, help="events in a trace (default: 1,000,000)")
    parser.add_argument("--repetitions", type=int, default=None, help="of what the targets need (default: 3)")
    parser.add_argument("--quick", action="store_true", help="100,000 events, once: to see that it runs")
    parser.add_argument("--worker", nargs=2, metavar=("KIND", "JOB"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.events = options.events or (100_000 if options.quick else 1_000_000)
    options.repetitions = options.repetitions or (1 if options.quick else 3)
    if options.events < 1_000:
        parser.error("--events: a thousand at the least")
    return options


def main() -> None:
    options = arguments()
    if options.worker:
        kind, job = options.worker
        print(json.dumps(WORKERS[kind](json.loads(job))))
        return
    os.environ.pop("LAWFUL_CORE", None)  # the bench chooses
    with tempfile.TemporaryDirectory(prefix="lawful-bench-") as folder:
        bench = Bench(options.events, options.repetitions, Path(folder))
        bench.run()
        print("\n".join(report(bench)))


if __name__ == "__main__":
    main()

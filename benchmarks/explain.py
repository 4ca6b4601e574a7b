"""Explaining programs: the columns of the paper's Table 1, a process for each question beside one symbolic run.

Every measurement is a process of its own, once; CPU seconds of it and of the CBMC processes that it starts are counted,
without the start-up of Python. The programs are those of `examples/explain`, written anew after those of the paper:
the paper's numbers stand beside them, but are not of the same programs, nor of the same machine.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

EXAMPLES = Path(__file__).resolve().parent.parent / "examples" / "explain"
TARGET = 10.0
Result = dict[str, Any]


@dataclass(frozen=True)
class Row:
    """A program with the largest unwinding of the search, and what the paper measured for its like."""

    program: str
    unwind: int
    paper: str = "-"
    """Its unwinding, states and edges, seconds."""

    seconds: float = 0.0
    quick: bool = False


C_ROWS = (
    Row("tcas", 1, "b 1: 25/28", 7.76),
    Row("bubble_sort", 2, "b 2: 10/10", 1.61, quick=True),
    Row("bubble_sort", 3, "b 3: 19/21", 4.24),
    Row("merge_sort", 3, "b 1: 4/3", 0.13),
    Row("sll_to_dll", 2, "b 1: 14/13", 2.83),
    Row("sll_to_dll", 3, "b 2: 17/19", 7.28),
    Row("defroster", 3, "b 1: 14/18", 32.92),
    Row("docking", 3, "b 1: 7/6", 0.49),
    Row("docking", 4, "b 2: 11/11", 1.65),
)
PYTHON_ROWS = (
    Row("tcas", 1),
    Row("bubble_sort", 3, quick=True),
    Row("merge_sort", 4),
    Row("sll_to_dll", 4),
    Row("docking", 5),
)
WAYS = {
    "asking": "one process of CBMC for each question, L* with an observation table: the paper's way",
    "one-run": "one symbolic run for each unwinding, the failing words listed",
    "one-run, L*": "one symbolic run, but L* asks",
}


def spent() -> float:
    """CPU seconds of this process and of those that it has waited for."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(used.ru_utime + used.ru_stime for used in both)


def measured(program: str, unwind: int, way: str) -> Result:
    """One measurement: the search through all bounds up to an unwinding."""
    from lawful.explain.automata import words
    from lawful.explain.bounds import Range
    from lawful.explain.learning_run import SearchSettings, learn_from
    from lawful.explain.postprocess import picture
    from lawful.explain.settings import ExplainSettings
    from lawful.explain.teacher_setup import teacher_of_target

    file = f"{EXAMPLES / 'python' / program}.py:main" if way == "python" else f"{EXAMPLES / 'c' / program}.c"
    settings = ExplainSettings(teacher="asking" if way == "asking" else "one-run")
    learner = "words" if way in ("one-run", "python") else "table"
    began = spent()
    with ExitStack() as stack:
        teacher, _ = teacher_of_target(file, settings, None, stack, str)
        done = learn_from(teacher, SearchSettings(learner=learner, within=Range(max_unwind=unwind, every=True)))  # type: ignore[arg-type]
    seconds = spent() - began
    alphabet, length = teacher.alphabet, done.bounds.word_length
    drawn = picture(done.automaton, alphabet, length=length)
    return {
        "first length": done.search.first_length,
        "length": length,
        "iterations": len(done.search.steps),
        "unwind": done.bounds.unwind,
        "seconds": seconds,
        "states": drawn.states,
        "edges": len(drawn.edges),
        "membership": done.counts.membership,
        "worked": done.counts.membership_worked,
        "conjectures": done.counts.conjectures,
        "processes": done.counts.executions,
        "words": sorted(" ".join(alphabet.spelled(word)) for word in words(done.automaton, length)),
    }


def measure(program: str, unwind: int, way: str, timeout: float) -> Result | None:
    """None if it did not end in time."""
    command = [sys.executable, __file__, "--one", program, way, "--unwind", str(unwind)]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return None
    result: Result = json.loads(done.stdout)
    return result


def heading(*names: str) -> None:
    print(f"| {' | '.join(names)} |\n|{'---|' * len(names)}")


def print_row(text: str) -> None:
    print(f"| {text} |", flush=True)


def table_1(rows: list[Row], way: str, timeout: float) -> dict[Row, Result | None]:
    """The columns of Table 1."""
    print(f"\n### {way}: {WAYS[way]}\n")
    heading(
        "program", *"b_min^wl b^wl It. b".split(), "CPU s", *"states edges memb. worked conj. paper".split(), "its s"
    )
    found: dict[Row, Result | None] = {}
    for row in rows:
        got = found[row] = measure(row.program, row.unwind, way, timeout)
        if got is None:
            cells = f"{row.program} | | | | {row.unwind} | more than {timeout:g} | | | | |"
            print_row(f"{cells} | {row.paper} | {row.seconds:.2f}")
            continue
        asked, worked = got["membership"], got["worked"]
        share = f"{worked:,} ({worked / asked:.2%})" if asked else "-"
        print_row(
            f"{row.program} | {got['first length']} | {got['length']} | {got['iterations']} | {got['unwind']} "
            f"| {got['seconds']:.2f} | {got['states']} | {got['edges']} | {asked:,} | {share} | {got['conjectures']} "
            f"| {row.paper} | {row.seconds:.2f}"
        )
    return found


def beside(rows: list[Row], found: dict[str, dict[Row, Result | None]]) -> bool:
    """The ways beside each other; whether all of them have found the same words."""
    print("\n### Beside each other, CPU seconds\n")
    heading("program", "b", *found, "asking / one-run", "the paper")
    total: dict[str, float] = dict.fromkeys(found, 0.0)
    paper, same = 0.0, True
    for row in rows:
        got = [each[row] for each in found.values()]
        if any(each is None for each in got):
            print_row(f"{row.program} | {row.unwind} | not ended in time {'| ' * (len(found) + 1)}")
            continue
        seconds = {way: each[row]["seconds"] for way, each in found.items()}  # type: ignore[index]
        same = same and len({tuple(each["words"]) for each in got if each is not None}) == 1
        for way, one in seconds.items():
            total[way] += one
        paper += row.seconds
        ratio = seconds["asking"] / seconds["one-run"]
        print_row(
            f"{row.program} | {row.unwind} | {' | '.join(f'{one:.2f}' for one in seconds.values())} | {ratio:.0f} x "
            f"| {row.seconds:.2f}"
        )
    if not total["one-run"]:
        print("\nnothing could be compared")
        return same
    ratio = total["asking"] / total["one-run"]
    print_row(f"total | | {' | '.join(f'{one:.2f}' for one in total.values())} | {ratio:.1f} x | {paper:.2f}")
    verdict = "ok" if ratio >= TARGET else "MISSED"
    print(f"\ntarget: at least {TARGET:g} x apart in total: {ratio:.1f} x, {verdict}")
    print(f"the same failing words in all ways: {'yes' if same else 'NO'}")
    return same


def python_table(rows: list[Row], timeout: float) -> None:
    print("\n### Python programs, all inputs up to a size\n")
    heading("program", "b^wl", "It.", "b", "CPU s", "states", "edges", "executions")
    for row in rows:
        got = measure(row.program, row.unwind, "python", timeout)
        if got is None:
            print_row(f"{row.program} | | | {row.unwind} | more than {timeout:g} | | |")
            continue
        print_row(
            f"{row.program} | {got['length']} | {got['iterations']} | {got['unwind']} | {got['seconds']:.2f} "
            f"| {got['states']} | {got['edges']} | {got['processes']:,}"
        )


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--quick", action="store_true", help="only a few programs, to see that it runs")
    options.add_argument("--timeout", type=float, default=1200, help="seconds after which a measurement is given up")
    options.add_argument("--one", nargs=2, metavar=("PROGRAM", "WAY"), help=argparse.SUPPRESS)
    options.add_argument("--unwind", type=int, help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.one is not None:
        print(json.dumps(measured(given.one[0], given.unwind, given.one[1])))
        return 0
    from lawful.errors import LawfulError
    from lawful.explain.teachers.c.cbmc import find_cbmc

    try:
        cbmc = find_cbmc()
    except LawfulError as error:
        print(f"{error.message}; {error.hint}", file=sys.stderr)
        return 2
    version = ".".join(map(str, cbmc.version))
    print(f"CPython {platform.python_version()}, CBMC {version}, {platform.machine()}, {os.cpu_count()} cores")
    rows = [row for row in C_ROWS if row.quick or not given.quick]
    found = {way: table_1(rows, way, given.timeout) for way in WAYS}
    same = beside(rows, found)
    python_table([row for row in PYTHON_ROWS if row.quick or not given.quick], given.timeout)
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())

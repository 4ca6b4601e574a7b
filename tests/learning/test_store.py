"""The store: what goes in comes out as sums, from several processes too, and files of others are left as they are."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from itertools import permutations
from pathlib import Path

import pytest

from lawful.confidence.engine import Tally
from lawful.confidence.store import ConfidenceStore, Subject
from lawful.database import APPLICATION, VERSION
from lawful.errors import LawfulError
from lawful.learning.reported_before import ReportRecord
from lawful.learning.shared_counts import minus
from lawful.learning.store import Run, Store, new_run_id
from lawful.learning.window_protocol import SharedHistory, SharedPair, Site, Word

TEMPLATES = ("ab", "ab?", "a+b")
WORDS = [
    Word("func_pre", "m.F.open"),
    Word("func_pre", "m.F.close"),
    Word("field_read", "m.F.size"),
    Word("func_post", "m.open", "result"),
    Word("new", "m.F"),
]
SITES = [Site("a.py", 1), Site("a.py", 2), Site("a.py", None), Site(None, None), Site("ü.py", 7)]


def some(random: random.Random, templates: int = len(TEMPLATES)) -> list[SharedPair]:
    """Counts for some pairs, each once."""
    pairs = [(x, y) if random.random() < 0.5 else (y, x) for i, x in enumerate(WORDS) for y in WORDS[:i]]
    found = []
    for first, second in random.sample(pairs, random.randrange(len(pairs))):
        alike = {(random.getrandbits(2 * templates), random.randint(1, 3)) for _ in range(random.randrange(5))}
        endings = tuple((*signature, random.randint(1, 100)) for signature in alike)
        sites = random.sample(SITES, random.randrange(len(SITES)))
        contexts = tuple((site, random.getrandbits(2 * templates)) for site in sites)
        found.append(SharedPair(first, second, endings, contexts))
    return found


Facts = dict[tuple[object, ...], int]


def facts(counted: list[SharedPair], templates: tuple[str, ...], wanted: tuple[str, ...] = TEMPLATES) -> Facts:
    """The same in another form, which knows no numbers: how often which events ended with which rules kept, and the
    places where each rule was kept.
    """
    found: Facts = {}
    for known in counted:
        words = (known.first.label, known.second.label)
        names = [(*turn, text) for text in templates for turn in (words, words[::-1])]
        wants = [number for number, name in enumerate(names) if name[2] in wanted]
        for rules, letters, number in known.endings:
            kept = frozenset(names[rule] for rule in wants if rules >> rule & 1)
            seen = frozenset(words[at] for at in (0, 1) if letters >> at & 1)
            key = ("ending", frozenset(words), seen, kept)
            found[key] = found.get(key, 0) + number
        for site, rules in known.contexts:
            found.update({("place", str(site), names[rule]): 1 for rule in wants if rules >> rule & 1})
    return found


def added(*parts: Facts) -> Facts:
    """Counts are sums, places are not."""
    total: Facts = {}
    for part in parts:
        for key, number in part.items():
            total[key] = 1 if key[0] == "place" else total.get(key, 0) + number
    return total


def without_places(found: Facts) -> Facts:
    return {key: number for key, number in found.items() if number and key[0] != "place"}


def run(number: int) -> Run:
    return Run(f"trace:{number}", 10 * number, 25)


@pytest.mark.parametrize("seed", range(20))
def test_what_goes_in_comes_out_as_sums(seed: int, tmp_path: Path) -> None:
    source = random.Random(seed)
    path = tmp_path / "s.db"
    rounds = [some(source) for _ in range(4)]
    for number, counted in enumerate(rounds):
        with Store(path) as store:
            store.add([run(number)], TEMPLATES, counted)
    with Store(path) as store:
        everything = [known for counted in rounds for known in counted]
        assert facts(store.known(TEMPLATES), TEMPLATES) == facts(everything, TEMPLATES)
        # The order of templates is the caller's own.
        turned = TEMPLATES[::-1]
        assert facts(store.known(turned), turned) == facts(everything, TEMPLATES)
        assert store.runs() == [run(number) for number in range(4)]
        assert store.has("trace:3") and not store.has("trace:4")


def test_counts_serve_all_who_ask_for_no_more_templates(tmp_path: Path) -> None:
    source = random.Random(1)
    shared = 0
    for number in range(10):
        small, large = some(source, 1), some(source, 3)
        with Store(tmp_path / f"{number}.db") as store:
            store.add([run(1)], ("ab?",), small)
            store.add([run(2)], TEMPLATES, large)
            narrow, wide = facts(small, ("ab?",)), facts(large, TEMPLATES, ("ab?",))
            assert facts(store.known(("ab?",)), ("ab?",)) == added(narrow, wide)
            assert facts(store.known(TEMPLATES), TEMPLATES) == facts(large, TEMPLATES)
            assert store.known(("ab", "b+a")) == []
        shared += len(narrow.keys() & wide.keys())
    assert shared > 0


def test_all_64_rules_have_their_bits(tmp_path: Path) -> None:
    templates = tuple(f"a{'b' * n}" for n in range(1, 33))
    whole = (1 << 64) - 1
    endings = (*((1 << rule, 3, rule + 1) for rule in range(64)), (whole, 3, 5))
    known = SharedPair(WORDS[1], WORDS[0], endings, ((SITES[0], whole), (SITES[1], 1 << 63)))
    with Store(tmp_path / "s.db") as store:
        store.add([run(1)], templates, [known])
        assert store.known(templates) == [known]


def contents(path: Path) -> list[tuple[object, ...]]:
    """All that a store says, whatever its numbers are."""
    with Store(path) as store:
        sets = [row[0].split("\n") for row in store._rows("SELECT templates FROM template_sets ORDER BY templates")]
        found: list[tuple[object, ...]] = [tuple(run) for run in store.runs()]
        for templates in sets:
            found += [(tuple(templates), *known) for known in store.known(templates)]
        words = store._rows("SELECT event, name, role FROM words ORDER BY label")
        return found + words


@pytest.mark.parametrize("seed", range(5))
def test_merging_knows_no_order_and_no_grouping(seed: int, tmp_path: Path) -> None:
    source = random.Random(seed)
    parts = []
    for number in range(3):
        parts.append(tmp_path / f"{number}.db")
        with Store(parts[-1]) as store:
            store.add([run(2 * number)], TEMPLATES, some(source))
            store.add([run(2 * number + 1)], ("ab",), some(source, 1))
    with Store(parts[0]) as store:  # the same label from another kind of event
        store.add([run(10)], ("ab",), [SharedPair(Word("call", "m.F"), WORDS[0], ((1, 3, 1),), ())])

    def merged(name: str, *paths: Path) -> Path:
        target = tmp_path / name
        others = [Store(path) for path in paths]
        with Store(target) as store:
            store.merge(others)
        for other in others:
            other.close()
        return target

    results = [merged(f"o{n}.db", *order) for n, order in enumerate(permutations(parts))]
    results.append(merged("l.db", merged("l0.db", parts[0], parts[1]), parts[2]))
    results.append(merged("r.db", parts[0], merged("r0.db", parts[1], parts[2])))
    assert len({repr(contents(path)) for path in results}) == 1


def test_a_run_counts_once(tmp_path: Path) -> None:
    counted = some(random.Random(4))
    paths = [tmp_path / name for name in ("a.db", "b.db")]
    for path in paths:
        with Store(path) as store:
            store.add([run(1)], TEMPLATES, counted)
    before = paths[0].read_bytes()
    with Store(paths[0]) as store, Store(paths[1]) as other:
        for again in (lambda: store.add([run(1)], TEMPLATES, counted), lambda: store.merge([other])):
            with pytest.raises(LawfulError) as caught:
                again()
            assert (caught.value.slug, caught.value.where) == ("store-overlap", str(paths[0]))
    assert paths[0].read_bytes() == before
    assert new_run_id() != new_run_id()


PROCESS = """
import sys
from lawful.learning.window_protocol import SharedPair, SharedHistory, Site, Word
from lawful.learning.store import Run, Store
path, who = sys.argv[1:]
for number in range(20):
    with Store(path) as store:
        known = SharedPair(Word("f", "x"), Word("f", "y"), ((2, 1, 1), (3, 3, 2)), ((Site("a.py", number), 3),))
        store.add([Run(f"{who}:{number}", 1, 25)], ["ab"], [known])
"""


def test_processes_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    running = [
        subprocess.Popen([sys.executable, "-c", PROCESS, path, str(who)], env=environment, stderr=subprocess.PIPE)
        for who in range(3)
    ]
    for process in running:
        assert process.communicate(timeout=120)[1] == b""
        assert process.returncode == 0
    with Store(path) as store:
        (known,) = store.known(["ab"])
        assert (known.endings, len(known.contexts)) == (((2, 1, 60), (3, 3, 120)), 20)
        assert len(store.runs()) == 60


def foreign(path: Path, *statements: str) -> None:
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def refused(path: Path) -> LawfulError:
    """The error, after a look at the folder: nothing was changed in it."""
    before = {each.name: each.read_bytes() for each in path.parent.iterdir() if each.is_file()}
    with pytest.raises(LawfulError) as caught:
        Store(path, patience=0.1)
    assert {each.name: each.read_bytes() for each in path.parent.iterdir() if each.is_file()} == before
    assert caught.value.where == str(path)
    return caught.value


@pytest.mark.parametrize(
    ("statements", "slug"),
    [
        (["CREATE TABLE notes (text)"], "store-not-ours"),
        (["PRAGMA application_id = 7"], "store-not-ours"),
        (["PRAGMA user_version = 1"], "store-not-ours"),
        (["PRAGMA journal_mode = WAL", "CREATE TABLE notes (text)"], "store-not-ours"),
        ([f"PRAGMA application_id = {APPLICATION}", f"PRAGMA user_version = {VERSION + 1}"], "store-version"),
        ([f"PRAGMA application_id = {APPLICATION}", "CREATE TABLE runs (id)"], "store-version"),
    ],
)
def test_other_databases_are_left_as_they_are(statements: list[str], slug: str, tmp_path: Path) -> None:
    foreign(tmp_path / "s.db", *statements)
    assert refused(tmp_path / "s.db").slug == slug


@pytest.mark.parametrize("content", [b"x", b"SQLite format 2\0" * 9, b'{"event":"new"}\n' * 100])
def test_other_files_are_left_as_they_are(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "s.db").write_bytes(content)
    assert refused(tmp_path / "s.db").slug == "store-not-ours"


def test_a_damaged_store_is_left_as_it_is(tmp_path: Path) -> None:
    with Store(tmp_path / "s.db") as store:
        store.add([run(1)], TEMPLATES, some(random.Random(3)))
    whole = (tmp_path / "s.db").read_bytes()
    (tmp_path / "s.db").write_bytes(whole[:100] + b"\xff" * 4000 + whole[4100:])
    assert refused(tmp_path / "s.db").slug == "store-unreadable"


LIFE = SharedHistory((WORDS[0], WORDS[1]), (0, 2, 1, 3), 4, (((SITES[0],) * 4, 4, 7),))


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE endings SET number = -1",
        "UPDATE endings SET number = 'many'",
        "UPDATE endings SET letters = 7",
        "UPDATE pairs SET second = first",
        "UPDATE contexts SET rules = x'00'",
        "UPDATE words SET name = x'ff'",
        "UPDATE sites SET line = 'first' WHERE id = 1",
        "UPDATE runs SET events = 'none'",
        "UPDATE lives SET number = 0",
        "UPDATE lives SET turns = '0 1 x'",
        "UPDATE life_places SET sites = '-1'",
        "UPDATE novelty SET news = runs + 1",
        "INSERT INTO told VALUES ('nobody', 'a', 'b', 'a.py', 'f', 1, 0)",
        "DELETE FROM words",
        "DELETE FROM sites",
    ],
)
def test_what_cannot_be_right_is_left_as_it_is(statement: str, tmp_path: Path) -> None:
    known = SharedPair(WORDS[0], WORDS[1], ((1, 3, 5),), ((SITES[0], 1),), ((SITES[1], 2),))
    with Store(tmp_path / "s.db") as store:
        store.add([run(1)], TEMPLATES, [known], [LIFE], ReportRecord({}, (), ()), {WORDS[0]: True})
    Store(tmp_path / "s.db").close()
    foreign(tmp_path / "s.db", statement)
    assert refused(tmp_path / "s.db").slug == "store-unreadable"


@pytest.mark.parametrize("number", ["99", "9" * 5000])
@pytest.mark.parametrize(("table", "column"), [("lives", "words"), ("life_places", "sites")])
def test_lives_with_what_is_not_there(table: str, column: str, number: str, tmp_path: Path) -> None:
    with Store(tmp_path / "s.db") as store:
        store.add([run(1)], TEMPLATES, [], [LIFE])
    foreign(tmp_path / "s.db", f"UPDATE {table} SET {column} = '{number}'")
    with Store(tmp_path / "s.db") as store, pytest.raises(LawfulError) as caught:
        store.histories()
    assert (caught.value.slug, caught.value.where) == ("store-unreadable", str(tmp_path / "s.db"))


def test_places_where_no_store_can_be(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "no" / "s.db"):
        with pytest.raises(LawfulError) as caught:
            Store(path)
        assert caught.value.slug == "store-unreadable"
    with pytest.raises(LawfulError) as caught:
        Store(tmp_path / "s.db", must_exist=True)
    assert (caught.value.slug, caught.value.message) == ("store-unreadable", "there is no such file")
    with pytest.raises(LawfulError) as caught:
        Store("a\0b")
    assert caught.value.slug == "store-unreadable"


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_store_that_may_only_be_read(tmp_path: Path) -> None:
    with Store(tmp_path / "s.db") as store:
        store.add([run(1)], TEMPLATES, [])
    (tmp_path / "s.db").chmod(0o400)
    assert refused(tmp_path / "s.db").slug == "store-unreadable"


def test_a_store_that_somebody_holds(tmp_path: Path) -> None:
    with Store(tmp_path / "s.db") as store:
        store.add([run(1)], TEMPLATES, [])
    holder = sqlite3.connect(tmp_path / "s.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(LawfulError) as caught:
        Store(tmp_path / "s.db", patience=0.05)
    assert caught.value.slug == "store-locked"
    holder.execute("ROLLBACK")
    holder.close()
    Store(tmp_path / "s.db", patience=0.05).close()


def test_nothing_is_made_before_something_is_added(tmp_path: Path) -> None:
    with Store(tmp_path / "s.db") as store:
        assert (store.runs(), store.known(TEMPLATES), store.has("x")) == ([], [], False)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "empty.db").touch()  # as mktemp makes it
    Store(tmp_path / "empty.db").close()
    assert not (tmp_path / "empty.db").stat().st_size  # else another process would refuse it
    with Store(tmp_path / "empty.db") as store:
        assert store.known(TEMPLATES) == []
        store.add([run(1)], TEMPLATES, [])
        assert store.runs() == [run(1)]


def test_all_or_nothing(tmp_path: Path) -> None:
    with Store(tmp_path / "s.db") as store:
        store.add([run(1)], TEMPLATES, some(random.Random(7)))
        before = (tmp_path / "s.db").read_bytes()

        def broken() -> Iterator[SharedPair]:
            yield from some(random.Random(8))
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            store.add([run(2)], TEMPLATES, broken())
        assert store.runs() == [run(1)]
    assert (tmp_path / "s.db").read_bytes() == before


def test_odd_names_and_lines(tmp_path: Path) -> None:
    odd = SharedPair(Word("f", "a\udcff"), Word("f", "b"), ((1, 3, 1),), ((Site("\udcfe.py", 10**30), 1),))
    with Store(tmp_path / "s.db") as store:
        store.add([run(1)], ["ab"], [odd])
        (known,) = store.known(["ab"])
    assert (known.first.name, known.second.name, known.endings) == ("a\ufffd", "b", ((1, 3, 1),))
    assert [site for site, _ in known.contexts] == [Site("\ufffd.py", None)]


@pytest.mark.parametrize("seed", range(10))
def test_what_is_taken_away_is_what_was_added(seed: int, tmp_path: Path) -> None:
    source = random.Random(seed)
    first, second = some(source), some(source)
    with Store(tmp_path / "s.db") as store:
        store.add([run(1)], TEMPLATES, first)
        store.add([run(2)], TEMPLATES, second)
        left = list(minus(store.known(TEMPLATES), second))
    assert without_places(facts(left, TEMPLATES)) == without_places(facts(first, TEMPLATES))
    assert list(minus(first, first)) == []


def test_there_is_never_less_than_nothing() -> None:
    more = SharedPair(WORDS[0], WORDS[1], ((0b01, 3, 5), (0b10, 1, 4)), ())
    less = SharedPair(WORDS[1], WORDS[0], ((0b10, 3, 3), (0b01, 2, 4), (0b00, 3, 1)), ())
    assert list(minus([less], [more])) == [SharedPair(WORDS[1], WORDS[0], ((0b00, 3, 1),), ())]
    assert list(minus([more], [less])) == [SharedPair(WORDS[0], WORDS[1], ((0b01, 3, 2),), ())]


def test_a_file_that_holds_only_samples(tmp_path: Path) -> None:
    path, subject = tmp_path / "s.db", Subject("law", "text", "m.F")
    with ConfidenceStore(path) as samples:
        samples.add("run:1", {subject: Tally(5)})
    with Store(path) as store:
        assert (store.runs(), store.known(TEMPLATES), store.has("x")) == ([], [], False)
        store.add([run(1)], TEMPLATES, some(random.Random(1)))
        assert store.runs() == [run(1)]
    with ConfidenceStore(path) as samples:
        assert samples.total(subject) == Tally(5)

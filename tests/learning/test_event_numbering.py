"""Events become numbers: names, places, objects; and joins, by which an event is one of several objects."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lawful.errors import LawfulError
from lawful.learning.event_numbering import MOST_RECENT, NO_OBJECT, EventNumbering, Recent
from lawful.learning.window_protocol import Site, Word

Event = dict[str, Any]


def call(name: str, target: object = 1, kind: str = "func_pre", **more: object) -> Event:
    event: Event = {"event": kind, "name": name, "file": "app.py", "line": 1, **more}
    return event if target is None else event | {"targetId": target}


def read(numbering: EventNumbering) -> list[tuple[str, str, int | str]]:
    """What was added, in words."""
    return [
        (numbering.words[name].label, str(numbering.sites[site]), numbering.original(number))
        for name, site, number in zip(*numbering.take(), strict=True)
    ]


def labels(events: list[Event], *joins: str) -> list[tuple[str, int | str]]:
    numbering = EventNumbering(joins)
    numbering.add(events)
    return [(label, number) for label, _, number in read(numbering)]


def test_an_event_is_its_name_its_place_and_its_object() -> None:
    numbering = EventNumbering()
    numbering.add(
        [
            call("open", 7, file="a.py", line=3),
            call("close", 7, file="a.py", line=4),
            call("open", 8, file="b.py", line=3),
        ]
    )
    numbers = numbering.take()
    assert [column.typecode for column in numbers] == ["I", "I", "Q"]
    assert [list(column) for column in numbers] == [[0, 1, 0], [0, 1, 2], [7, 7, 8]]
    assert numbering.words == [Word("func_pre", "open"), Word("func_pre", "close")]
    assert numbering.sites == [Site("a.py", 3), Site("a.py", 4), Site("b.py", 3)]
    assert not numbering.take().names


def test_reading_a_field_is_another_event_than_writing_it() -> None:
    events = [call("P.x", kind="field_write"), call("P.x", kind="field_read"), call("P.x")]
    assert labels(events) == [("P.x", 1), ("P.x (read)", 1), ("P.x", 1)]


def test_an_event_of_the_programs_own_needs_no_name() -> None:
    assert labels([{"event": "paid", "targetId": 1}, {"event": "paid", "name": "cash", "targetId": 1}]) == [
        ("paid", 1),
        ("cash", 1),
    ]


def test_a_trace_of_others_need_not_know_kinds() -> None:
    assert labels([{"name": "open", "targetId": 1}]) == [("open", 1)]


@pytest.mark.parametrize(
    "event",
    [
        {},
        {"event": None},
        {"event": "func_pre", "targetId": 1},
        {"event": "new"},
        {"event": "field_read", "name": None},
        {"event": "func_pre", "name": ""},
        {"event": "func_pre", "name": 3},
        {"event": "func_pre", "name": ["x"]},
        {"event": ["func_pre"], "name": "x"},
        {"event": 3, "name": "x"},
    ],
)
@pytest.mark.parametrize("joins", [(), ("result", "arguments", "family")])
def test_an_event_without_a_name_is_an_error_that_says_where(event: Event, joins: tuple[str, ...]) -> None:
    numbering = EventNumbering(joins)
    numbering.add([call("a")] * 3, "t.jsonl")
    with pytest.raises(LawfulError) as caught:
        numbering.add([call("a"), event, call("a")], "t.jsonl")
    assert (caught.value.slug, caught.value.where) == ("learn-event-without-name", "t.jsonl: event 5")
    assert len(read(numbering)) == 4  # all before it
    with pytest.raises(LawfulError) as caught:
        numbering.add([event], lambda index: f"t.jsonl:{index + 70}")
    assert caught.value.where == "t.jsonl:70"
    with pytest.raises(LawfulError) as caught:
        numbering.add([event])
    assert caught.value.where is None


def test_another_trace_counts_its_own_events() -> None:
    numbering = EventNumbering()
    numbering.add([call("a")] * 3, "one.jsonl")
    with pytest.raises(LawfulError) as caught:
        numbering.add([{}], "two.jsonl")
    assert caught.value.where == "two.jsonl: event 1"


@pytest.mark.parametrize("joins", [(), ("arguments",)])
def test_what_is_passed_over_is_counted_by_reason(joins: tuple[str, ...]) -> None:
    numbering = EventNumbering(joins)
    kinds = ["func_post", "func_raise", "gone", "yield", "resume", "iter_next"]
    numbering.add([call("f", kind=kind) for kind in kinds] + [{"event": "gone", "targetId": 1}])
    numbering.add([call("f", None), call("g", None), call("h", 5), call("h", 1.5), call("h", True), call("h", [1])])
    assert read(numbering) == [("h", "app.py:1", 5)]
    assert numbering.passed == dict.fromkeys(kinds, 1) | {"gone": 2, NO_OBJECT: 5}
    assert numbering.read == 13


def test_places_may_be_unknown_or_nonsense() -> None:
    numbering = EventNumbering()
    odd: list[Event] = [{}, {"file": "a.py"}, {"line": 3}, {"file": 3, "line": "x"}, {"file": ["a"], "line": {}}]
    numbering.add([{"event": "func_pre", "name": "f", "targetId": 1, **each} for each in odd])
    assert [place for _, place, _ in read(numbering)] == ["?", "a.py", "?", "?", "?"]
    assert numbering.sites == [Site(None, None), Site("a.py", None), Site(None, 3)]


@given(
    st.lists(st.integers() | st.text(max_size=3) | st.sampled_from([2**63 - 1, 2**63, 2**63 + 1, -1, 10**30, "1"])),
    st.integers(1, 7),
)
def test_objects_are_the_same_if_their_ids_are(ids: list[int | str], size: int) -> None:
    numbering = EventNumbering()
    for start in range(0, len(ids), size):
        numbering.add([call("f", each) for each in ids[start : start + size]])
    numbers = list(numbering.take().objects)
    assert [numbering.original(number) for number in numbers] == ids
    for one, number in zip(ids, numbers, strict=True):
        assert [other == one for other in ids] == [other == number for other in numbers]


def test_odd_ids_do_not_pile_up() -> None:
    numbering = EventNumbering()
    objects = numbering.take().objects
    for start in range(0, 300_000, 10_000):
        numbering.add([call("f", f"o{start + number}") for number in range(10_000)])
        objects = numbering.take().objects
        assert len(numbering._ids) <= 2 * MOST_RECENT
    assert numbering.original(objects[-1]) == "o299999"
    assert numbering.original(1 << 63) == "o0"
    numbering.add([call("f", "o290000"), call("f", "o0")])
    again = numbering.take().objects
    assert again[0] == objects[0]
    assert again[1] not in objects  # forgotten, and not mistaken for another one


@given(st.lists(st.tuples(st.sampled_from(["get", "put", "drop"]), st.integers(0, 9)), max_size=200))
def test_what_was_used_last_is_remembered(steps: list[tuple[str, int]]) -> None:
    most = 4
    table: Recent[int, int] = Recent(most)
    truth: dict[int, int | None] = {}  # by last use, those too that were dropped
    for number, (step, key) in enumerate(steps):
        if step == "put":
            table.put(key, number)
            truth.pop(key, None)
            truth[key] = number
        elif step == "drop":
            table.drop(key)
            truth[key] = None
        else:
            value = table.get(key)
            if value is None:
                assert key not in list(truth)[-most:] or truth[key] is None
                truth[key] = None
            else:
                assert value == truth.pop(key)
                truth[key] = value
        assert len(table) <= most


def test_words_and_places_can_be_asked_for_from_outside() -> None:
    numbering = EventNumbering()
    assert (
        numbering.word("func_pre", "a"),
        numbering.word("new", "B"),
        numbering.word("func_post", "a", "result"),
    ) == (0, 1, 2)
    assert (numbering.word("func_pre", "a"), numbering.site("x.py", 3), numbering.site("x.py", 3)) == (0, 0, 0)
    numbering.add([call("a", file="x.py", line=3)])
    assert [list(column) for column in numbering.take()] == [[0], [0], [1]]


def test_calls_that_raise_are_known_by_their_objects() -> None:
    numbering = EventNumbering()
    numbering.add(
        [
            call("f", 1),
            call("f", 1, "func_raise"),
            call("f", 2),
            call("g", 3, "func_raise"),
            call("f", None, "func_raise"),
        ]
    )
    assert numbering.raising == {(0, 0): [1]}
    numbering.add([call("f", number, "func_raise") for number in range(2, 100)])
    assert len(numbering.raising[0, 0]) == 16
    assert numbering.raising[0, 0][-1] == 99


# -- joins --------------------------------------------------------------------------------------------


def test_by_default_an_event_is_its_receivers_alone() -> None:
    events = [call("f", 1, argIds=[2, 3], kwargIds={"k": 4}), call("f", 1, "func_post", resultId=5), call("g", 5)]
    assert labels(events) == [("f", 1), ("g", 5)]


def test_results() -> None:
    events = [
        call("connect", None),
        call("connect", None, "func_post", resultId=5),
        call("C.cursor", 5),
        call("C.cursor", 5, "func_post", resultId="six"),
        call("C.enter", 5, "func_post", resultId=5),  # itself
        call("C.count", 5, "func_post", res=3),
        call("T", 9, "new"),
        call("T", None, "func_post", resultId=9),  # `new` has said so
    ]
    assert labels(events, "result") == [
        ("connect (result)", 5),
        ("C.cursor", 5),
        ("C.cursor (result)", "six"),
        ("T", 9),
    ]


def test_arguments() -> None:
    events = [
        call("f", 1, argIds=[None, 3, 1], kwargIds={"k": "x", "l": None, "m": 3}),
        call("g", None, argIds=[4]),
        call("T", None, argIds=[4]),
        call("T", 5, "new", argIds=[4]),  # the call has said so
        call("U", 6, "new", argIds=[4]),
        call("h", None, argIds=3, kwargIds=[]),
    ]
    assert labels(events, "arguments") == [
        ("f", 1),
        ("f (argument 2)", 3),
        ("f (argument k)", "x"),
        ("g (argument 1)", 4),
        ("T (argument 1)", 4),
        ("T", 5),
        ("U", 6),
        ("U (argument 1)", 4),
    ]


def made(name: str, target: int | str | None, result: int) -> Event:
    return call(name, target, "func_post", resultId=result)


def test_what_happens_to_a_child_happens_to_its_parent() -> None:
    events = [
        made("connect", None, 1),
        made("db.Conn.cursor", 1, 2),
        call("db.Cur.execute", 2),
        call("db.Conn.close", 1),
    ]
    assert labels(events, "family") == [
        ("db.Cur.execute", 2),
        ("db.Cur.execute (of its db.Conn)", 1),
        ("db.Conn.close", 1),
    ]


def test_an_object_made_with_another_one_is_its_child() -> None:
    events = [call("Reader", 2, "new", argIds=[None, 1], kwargIds={"log": 3}), call("Reader.read", 2)]
    assert labels(events, "family") == [
        ("Reader", 2),
        ("Reader (of its argument 2)", 1),
        ("Reader (of its argument log)", 3),
        ("Reader.read", 2),
        ("Reader.read (of its argument 2)", 1),
        ("Reader.read (of its argument log)", 3),
    ]


def test_an_object_that_is_made_inside_a_call_is_its_receivers_child() -> None:
    events = [call("Cur", 2, "new"), made("Cur", None, 2), made("Conn.cursor", 1, 2), call("Cur.execute", 2)]
    assert labels(events, "family")[1:] == [("Cur.execute", 2), ("Cur.execute (of its Conn)", 1)]


def test_who_hands_out_what_was_there_before_is_no_parent() -> None:
    events = [
        made("connect", None, 1),
        made("Pool.get", 9, 1),
        call("Conn.commit", 1),
        call("Conn.commit", 3),
        made("Pool.get", 9, 3),
        call("Conn.commit", 3),
        made("Conn.cursor", 1, 2),
        made("Cache.get", 9, 2),
        call("Cur.execute", 2),
    ]
    assert [pair for pair in labels(events, "family") if "of its" in pair[0]] == [("Cur.execute (of its Conn)", 1)]


def test_a_child_that_is_gone_is_forgotten() -> None:
    events = [made("Conn.cursor", 1, 2), {"event": "gone", "targetId": 2}, call("Cur.execute", 2)]
    assert labels(events, "family") == [("Cur.execute", 2)]


def test_children_do_not_pile_up() -> None:
    numbering = EventNumbering(["family"])
    for start in range(0, 4 * MOST_RECENT, 10_000):
        numbering.add([made("Conn.cursor", 1, 2 + start + number) for number in range(10_000)])
        numbering.take()
    assert len(numbering._parents) <= 2 * MOST_RECENT


def test_another_trace_has_other_objects() -> None:
    numbering = EventNumbering(["family"])
    numbering.add([made("Conn.cursor", "a", 2)])
    numbering.next_trace()
    numbering.add([call("Cur.execute", 2), call("Conn.close", "a")])
    assert read(numbering) == [("Cur.execute", "app.py:1", 2), ("Conn.close", "app.py:1", "a")]


@given(st.lists(st.sampled_from(["func_pre", "func_post", "new", "gone", "field_read", "own"]), max_size=30), st.data())
def test_a_join_that_no_event_has_changes_nothing(kinds: list[str], data: st.DataObject) -> None:
    """With a join that no event here has, the result is the same as without joins."""
    ids = st.none() | st.integers(-2, 3) | st.just("x")
    events = [
        call(data.draw(st.sampled_from("fg")), data.draw(ids), kind, line=data.draw(st.integers(1, 3)))
        for kind in kinds
    ]
    plain, joined = EventNumbering(), EventNumbering(["arguments"])
    plain.add(events)
    joined.add(events)
    assert (plain.passed, plain.read) == (joined.passed, joined.read)
    assert read(plain) == read(joined)


def test_what_makes_an_object_is_a_new_one_although_the_call_comes_first() -> None:
    numbering = EventNumbering()
    numbering.add(
        [
            {"event": "func_pre", "name": "shop.Cart", "args": []},
            {"event": "new", "name": "shop.Cart", "targetId": 1},
            {"event": "func_pre", "name": "shop.Cart.add", "targetId": 1},
        ]
    )
    assert {word.label: word.event for word in numbering.words} == {"shop.Cart": "new", "shop.Cart.add": "func_pre"}

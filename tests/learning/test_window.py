"""The learner's window: the counts of Algorithm 1, the evidence for them, and the same from both cores."""

from __future__ import annotations

import itertools
import re
from array import array
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from random import Random
from typing import Any

import pytest

from lawful import core
from lawful.learning import templates, window, window_protocol
from lawful.learning.window_protocol import (
    Candidate,
    Ending,
    Example,
    Instruction,
    Op,
    Pair,
    Product,
    RuleState,
    Survey,
)
from oracle import ocd
from oracle.ocd import Closed, Happening

Make = Callable[[Product, int, int], window_protocol.Window]

NATIVE = getattr(core.native, "Window", None)
needs_native = pytest.mark.skipif(NATIVE is None, reason="the C core is not built, or not wanted")
CORES = [pytest.param(window.Window, id="python"), pytest.param(NATIVE, id="native", marks=needs_native)]

NINE = templates.compile(templates.DEFAULT)
SIZES = (0, 1, 2, 3, 5, 25, 200)
AB, BA = 0, 1  # the rules of the first template


# --- traces -------------------------------------------------------------------------------------------------------


def uniform(random: Random, length: int, names: int, objects: int, sites: int) -> list[Happening]:
    return [
        Happening(random.randrange(names), random.randrange(sites), random.randrange(objects)) for _ in range(length)
    ]


def bursts(random: Random, length: int, names: int, objects: int, sites: int) -> list[Happening]:
    """One object after the other, each with few events again and again."""
    events: list[Happening] = []
    while len(events) < length:
        few = [random.randrange(names) for _ in range(3)]
        id_ = random.randrange(objects)
        events += [
            Happening(random.choice(few), random.randrange(sites), id_) for _ in range(random.choice((1, 2, 4, 9)))
        ]
    return events[:length]


def protocols(random: Random, length: int, names: int, objects: int, sites: int) -> list[Happening]:
    """Each object follows its own words, which are woven into each other; now and then an event is left out."""
    words = [[random.randrange(names) for _ in range(random.randint(1, 4))] for _ in range(4)]
    waiting: dict[int, list[int]] = {}
    events: list[Happening] = []
    while len(events) < length:
        id_ = random.randrange(objects)
        word = waiting.setdefault(id_, [])
        if not word:
            word += random.choice(words) * random.choice((1, 1, 1, 3))
        name = word.pop(0)
        if random.random() < 0.95:
            events.append(Happening(name, (name + random.randrange(3)) % sites, id_))
    return events


def lasting(random: Random, length: int, names: int, objects: int, sites: int) -> list[Happening]:
    """One object goes on all the time with ever the same events; other objects come, and are never seen again."""
    events: list[Happening] = []
    id_ = 2**63 + 5
    for number in range(length):
        if random.random() < 0.3:
            id_ += 1
        own = random.random() < 0.3
        name = random.randrange(2) if own else random.randrange(names)
        events.append(Happening(name, random.randrange(sites), 1 if own else id_ if objects > 1 else number))
    return events


SHAPES = (uniform, bursts, protocols, lasting)


def trace(random: Random, length: int) -> list[Happening]:
    shape = random.choice(SHAPES)
    return shape(
        random, length, random.choice((1, 2, 3, 6, 30)), random.choice((1, 2, 5, 40)), random.choice((1, 3, 90))
    )


def columns(events: Iterable[Happening]) -> tuple[array[int], array[int], array[int]]:
    names, sites, ids = array("I"), array("I"), array("Q")
    for name, site, id_ in events:
        names.append(name)
        sites.append(site)
        ids.append(id_)
    return names, sites, ids


def in_chunks(random: Random, events: Sequence[Happening]) -> Iterable[Sequence[Happening]]:
    at = 0
    while at < len(events):
        length = random.choice((1, 7, 60, 1000))
        yield events[at : at + length]
        at += length


def fed(
    make: Make, product: Product, size: int, events: Sequence[Happening], most_pairs: int = 0
) -> window_protocol.Window:
    made = make(product, size, most_pairs)
    made.feed(*columns(events))
    made.drain()
    return made


def random_template(random: Random) -> str:
    """Over both letters, not too deep."""

    def part(depth: int) -> str:
        match random.randrange(6 if depth else 2):
            case 0:
                return "a"
            case 1:
                return "b"
            case 2 | 3:
                return part(depth - 1) + part(depth - 1)
            case 4:
                return f"({part(depth - 1)}|{part(depth - 1)})"
        return f"({part(depth - 1)}){random.choice('*+?')}"

    while True:
        text = part(3)
        if {"a", "b"} <= set(text):
            return text


# --- the counts -----------------------------------------------------------------------------------------------------


def assert_counts(made: window_protocol.Window, expected: dict[tuple[int, int], list[tuple[int, int]]]) -> None:
    assert set(made.known()) == {(a, b) for a, b in expected if a < b}
    assert made.pairs == len(made.known()) == len(expected) // 2
    for first, second in made.known():
        counts = made.counts(first, second)
        assert counts is not None
        got = [(satisfied, counts.total - satisfied) for satisfied in counts.satisfied]
        assert got[0::2] == expected[first, second]
        assert got[1::2] == expected[second, first]


@pytest.mark.parametrize("text", templates.DEFAULT)
def test_the_oracle_reads_templates_as_python_does(text: str) -> None:
    for length in range(1, 9):
        for word in map("".join, itertools.product("ab", repeat=length)):
            state = ocd.pattern(text)
            for letter in word:
                state = ocd.advance(state, letter)
            assert ocd.is_final(state) is (re.fullmatch(f"(?:{text})+", word) is not None), word


@pytest.mark.parametrize("make", CORES)
@pytest.mark.parametrize("size", SIZES)
def test_counts_are_those_of_algorithm_1(make: Make, size: int) -> None:
    random = Random(size)
    pairs = 0
    for _ in range(20 if size > 25 else 120):
        events = trace(random, random.choice((1, 10, 60, 200)))
        made = make(NINE, size, 0)
        for chunk in in_chunks(random, events):
            made.feed(*columns(chunk))
        made.drain()
        assert made.events == len(events)
        assert_counts(made, ocd.run(templates.DEFAULT, [(event.type, event.id) for event in events], size))
        pairs += made.pairs
    assert (pairs > 0) is (size > 0)


@pytest.mark.parametrize("make", CORES)
def test_counts_of_very_many_small_traces(make: Make) -> None:
    """Those that are easy to get wrong: pairs that are first seen in the middle of runs of other objects."""
    random = Random(4)
    for _ in range(3000):
        events = uniform(random, random.randrange(1, 24), random.choice((2, 3, 4)), random.choice((1, 2, 3)), 1)
        size = random.choice((1, 2, 3, 5))
        made = fed(make, NINE, size, events)
        assert_counts(made, ocd.run(templates.DEFAULT, [(event.type, event.id) for event in events], size))


@pytest.mark.parametrize("make", CORES)
def test_counts_of_users_templates(make: Make) -> None:
    random = Random(5)
    for _ in range(150):
        texts = [random_template(random) for _ in range(random.randint(1, 3))]
        events = trace(random, random.choice((30, 150)))
        size = random.choice((1, 3, 25))
        made = fed(make, templates.compile(texts), size, events)
        assert_counts(made, ocd.run(texts, [(event.type, event.id) for event in events], size))


@pytest.mark.parametrize("make", CORES)
def test_the_size_can_be_changed_at_any_time(make: Make) -> None:
    random = Random(6)
    for _ in range(150):
        events = trace(random, 120)
        resizes = {at: random.choice(SIZES) for at in random.sample(range(120), 4)}
        size = random.choice(SIZES)
        made = make(NINE, size, 0)
        for number, event in enumerate(events):
            if number in resizes:
                made.size = resizes[number]
                assert made.size == resizes[number]
            made.feed(*columns([event]))
        made.drain()
        assert_counts(made, ocd.run(templates.DEFAULT, [(event.type, event.id) for event in events], size, resizes))


@pytest.mark.parametrize("make", CORES)
def test_no_more_pairs_than_allowed(make: Make) -> None:
    random = Random(7)
    refused = 0
    for _ in range(100):
        events = trace(random, 100)
        made = fed(make, NINE, 5, events, 4)
        expected = ocd.run(templates.DEFAULT, [(event.type, event.id) for event in events], 5)
        assert made.pairs == min(4, len(expected) // 2)
        assert (made.given_up > 0) is (len(expected) // 2 > 4)
        refused += made.given_up
        for first, second in made.known():
            counts = made.counts(first, second)
            assert counts is not None
            assert [(n, counts.total - n) for n in counts.satisfied[0::2]] == expected[first, second]
    assert refused > 0


# --- the evidence -----------------------------------------------------------------------------------------------------


def state_after(product: Product, letters: Iterable[int]) -> int:
    state = product.start
    for letter in letters:
        state = product.step[state][letter]
    return state


def shown(closed: Closed, count: int) -> Example:
    first, last = closed.events[0], closed.events[-1]
    trail = closed.trail[-window_protocol.MOST_TRAIL :]
    return Example(first.site, last.site, last.id, closed.seq, count, closed.at_end, trail)


def expected_pair(product: Product, evidence: ocd.Evidence, key: tuple[int, int]) -> Pair:
    """From all scenarios and all runs, by the words of the contract."""
    created = evidence.created[key]
    by_kind: dict[int, list[Closed]] = {}
    contexts: dict[int, int] = {}
    for closed in evidence.scenarios[key]:
        kind = product.kind[state_after(product, (event.type == key[1] for event in closed.events))]
        by_kind.setdefault(kind, []).append(closed)
        site, satisfied = closed.events[0].site, product.satisfied[kind]
        both = len({event.type for event in closed.events}) == 2
        if both and satisfied and (site in contexts or len(contexts) < window_protocol.MOST_CONTEXTS):
            contexts[site] = contexts.get(site, 0) | satisfied
    endings = []
    for kind, alike in sorted(by_kind.items()):
        if product.letters[kind] == 3:
            first = alike[0].seq
            sites: dict[int, list[Closed]] = {}
            for closed in alike:
                sites.setdefault(closed.events[0].site, []).append(closed)
            examples = [shown(same[0], len(same)) for same in sites.values()]
        else:
            letter = product.letters[kind] - 1
            usages: dict[Any, list[Closed]] = {}
            for closed in evidence.runs[key[letter]]:
                length = len(closed.events)
                states = tuple(state_after(product, [one] * length) for one in (0, 1))
                usage = (closed.events[0].site, states, closed.company)
                if usage in usages or len(usages) < window_protocol.MOST_USAGES:
                    usages.setdefault(usage, []).append(closed)
            mine = [
                same
                for (_, states, company), same in usages.items()
                if product.kind[states[letter]] == kind and key[1 - letter] not in company and same[-1].seq > created
            ]
            first = min((max(same[0].seq, created + 1) for same in mine), default=created + 1)
            examples = [shown(same[0], len(same)) for same in mine]
        endings.append(Ending(kind, len(alike), first, tuple(examples[: window_protocol.MOST_EXAMPLES])))
    return Pair(*key, created, tuple(endings), tuple(contexts.items()))


@pytest.mark.parametrize("make", CORES)
@pytest.mark.parametrize("size", SIZES[1:])
def test_examples_and_contexts_are_those_of_the_scenarios(make: Make, size: int) -> None:
    random = Random(size)
    for number in range(40):
        events = trace(random, 1500 if number == 0 else random.choice((10, 100, 200)))
        made = fed(make, NINE, size, events)
        evidence = ocd.gather(events, size)
        assert in_order(made) == list(evidence.created)
        for key in evidence.created:
            assert made.pair(*key) == expected_pair(NINE, evidence, key)


@pytest.mark.parametrize("make", CORES)
def test_the_evidence_is_bounded(make: Make) -> None:
    """There are more places than are kept apart, for examples, contexts and usages."""
    random = Random(9)
    events = [
        Happening(name, random.randrange(200), id_)
        for id_ in range(400)
        for name in random.choice(([0, 1], [1, 0], [0], [1], [0, 0]))
    ]
    made = fed(make, NINE, 3, events)
    pair = made.pair(0, 1)
    assert pair == expected_pair(NINE, ocd.gather(events, 3), (0, 1))
    assert pair is not None
    assert len(pair.contexts) == window_protocol.MOST_CONTEXTS
    assert max(len(ending.examples) for ending in pair.endings) == window_protocol.MOST_EXAMPLES


@pytest.mark.parametrize("make", CORES)
def test_ways_of_use_that_are_too_many_are_counted_without_examples(make: Make) -> None:
    early = [Happening(0, site, site) for site in range(window_protocol.MOST_USAGES)]
    events = [*early, Happening(0, 900, 900), Happening(1, 901, 900), Happening(0, 902, 902)]
    pair = fed(make, NINE, 1, events).pair(0, 1)
    assert pair == expected_pair(NINE, ocd.gather(events, 1), (0, 1))
    assert pair is not None
    (alone,) = (ending for ending in pair.endings if NINE.letters[ending.kind] == 1)
    assert (alone.count, alone.first, alone.examples) == (1, pair.created + 1, ())


@pytest.mark.parametrize("make", CORES)
def test_a_scenario_that_the_end_cuts_off_says_so(make: Make) -> None:
    filler = [Happening(9, 0, 100 + number) for number in range(5)]  # lets the window run empty
    events = [Happening(0, 1, 1), Happening(1, 2, 1), *filler, Happening(0, 3, 2), *filler, Happening(0, 4, 3)]
    pair = fed(make, NINE, 3, events).pair(0, 1)
    assert pair is not None
    examples = sorted(example for ending in pair.endings for example in ending.examples)
    assert examples == [
        Example(1, 2, 1, 2, 1, False, ((0, 1), (1, 2))),
        Example(3, 3, 2, 8, 1, False, ((0, 3),)),
        Example(4, 4, 3, 14, 1, True, ((0, 4),)),
    ]


@pytest.mark.parametrize("make", CORES)
def test_what_was_never_seen_is_not_there(make: Make) -> None:
    made = fed(make, NINE, 25, [Happening(0, 1, 1), Happening(1, 2, 2)])
    assert (made.events, made.pairs, made.pruned, made.given_up) == (2, 0, 0, 0)
    assert made.known() == []
    assert made.pair(0, 1) is None
    assert made.counts(0, 1) is None
    assert made.pair(7, 900) is None
    assert made.survey([Instruction(Op.COUNT, 4, 0)], True) == Survey(0, 0, 0, [], 0)


@pytest.mark.parametrize("make", CORES)
def test_nonsense_is_refused(make: Make) -> None:
    made = make(NINE, 25, 0)
    with pytest.raises(ValueError):
        made.feed(array("I", [1, 2]), array("I", [1, 2]), array("Q", [1]))
    with pytest.raises(ValueError):
        made.size = -1
    with pytest.raises(ValueError):
        make(NINE, -1, 0)
    for first, second, ending in ((2, 1, (0, 1)), (1, 1, (0, 1)), (1, 2, (0, -1)), (1, 2, (len(NINE.satisfied), 1))):
        with pytest.raises(ValueError):
            made.remember(first, second, [ending], [])
    for program in ([], [Instruction(Op.CONTEXT, 1)] * 2, [Instruction(Op.CONTEXT, 1), Instruction(Op.MEET)]):
        with pytest.raises(ValueError):
            made.survey(program, False)
    assert (made.size, made.events, made.known()) == (25, 0, [])


# --- judging -------------------------------------------------------------------------------------------------------


def random_program(random: Random) -> list[Instruction]:
    def basic() -> Instruction:
        match random.randrange(3):
            case 0:
                return Instruction(Op.COUNT, random.choice((0, 2, 10)), random.choice((0, 1, 3)))
            case 1:
                return Instruction(
                    Op.RATIO, random.choice((0.5, 0.75, 0.9)), random.choice((0.0, 0.3, 0.6)), random.choice((0, 4, 32))
                )
        return Instruction(Op.CONTEXT, random.choice((0, 1, 2, 5)))

    program = [basic()]
    for _ in range(random.randrange(4)):
        more, link = [basic()], Instruction(random.choice((Op.JOIN, Op.MEET)))
        program = [*program, *more, link] if random.random() < 0.5 else [*more, *program, link]
    return program


def expected_state(program: Sequence[Instruction], satisfied: int, total: int, contexts: int) -> RuleState:
    """The program read backwards, as the expression it is."""
    rest = list(program)

    def value() -> RuleState:
        op, x, y, z = rest.pop()
        if op in (Op.JOIN, Op.MEET):
            pick = max if op == Op.JOIN else min
            return pick(value(), value())
        ratio = Fraction(satisfied, total) if total else Fraction(0)
        enforcing, dead = {
            Op.COUNT: (satisfied > x, satisfied < y),
            Op.RATIO: (total > 0 and ratio > Fraction(x), ratio < Fraction(y) and total >= z),
            Op.CONTEXT: (contexts >= x, False),
        }[op]
        return RuleState.ENFORCING if enforcing else RuleState.DEAD if dead else RuleState.LEARNING

    return value()


def expected_survey(made: window_protocol.Window, product: Product, program: Sequence[Instruction]) -> Survey:
    """By what the window itself says of its pairs."""
    number = dict.fromkeys(RuleState, 0)
    candidates = []
    spoken_for = 0
    for key in made.known():
        pair, counts = made.pair(*key), made.counts(*key)
        assert pair is not None
        assert counts is not None
        states = [
            expected_state(program, satisfied, counts.total, contexts)
            for satisfied, contexts in zip(counts.satisfied, counts.contexts, strict=True)
        ]
        for state in states:
            number[state] += 1
        spoken_for += RuleState.ENFORCING in states
        for ending in pair.endings:
            before = [
                other
                for other in pair.endings
                if other is not ending and (other.first == 0 or other.first < ending.first)  # 0: it is remembered
            ]
            total = sum(other.count for other in before)
            best: tuple[Any, ...] | None = None
            for rule, state in enumerate(states):
                if state == RuleState.ENFORCING:
                    satisfied = sum(other.count for other in before if product.satisfied[other.kind] >> rule & 1)
                    rank = (Fraction(satisfied, total) if total else Fraction(0), -product.size[rule], -rule)
                    best = rank if best is None or rank > best else best
            if best is not None and not product.satisfied[ending.kind] >> -best[2] & 1:
                candidates.append(Candidate(*key, -best[2], ending.kind))
    return Survey(
        number[RuleState.ENFORCING], number[RuleState.LEARNING], number[RuleState.DEAD], candidates, spoken_for
    )


@pytest.mark.parametrize("make", CORES)
def test_a_survey_judges_all_rules(make: Make) -> None:
    random = Random(10)
    candidates = 0
    for _ in range(50):
        made = fed(make, NINE, random.choice((2, 5, 25)), trace(random, 200))
        for key in random.sample(made.known(), min(5, made.pairs)):
            made.remember(*key, [(random.randrange(len(NINE.satisfied)), random.randrange(9)) for _ in range(3)], [])
        for _ in range(3):
            program = random_program(random)
            survey = made.survey(program, False)
            assert survey == expected_survey(made, NINE, program)
            candidates += len(survey.candidates)
    assert candidates > 50


@pytest.mark.parametrize("make", CORES)
def test_the_stricter_rule_speaks_of_a_missing_second_event(make: Make) -> None:
    """`ab?` is satisfied by every use, the missing one too; before that one the ratios were the same."""
    events = [Happening(name, name, id_) for id_ in range(9) for name in (0, 1)] + [Happening(0, 7, 99)]
    made = fed(make, NINE, 2, events)
    (candidate,) = made.survey([Instruction(Op.RATIO, 0.75, 0.6, 32)], False).candidates
    assert (candidate.first, candidate.second, candidate.rule) == (0, 1, AB)
    assert NINE.letters[candidate.kind] == 1


@pytest.mark.parametrize("make", CORES)
def test_dead_pairs_are_forgotten_for_good(make: Make) -> None:
    random = Random(11)
    program = [Instruction(Op.RATIO, 0.9, 0.8, 3)]
    pruned = 0
    for _ in range(100):
        events = trace(random, 300)
        made, whole = make(NINE, 5, 0), make(NINE, 5, 0)
        gone: set[tuple[int, int]] = set()
        for at in range(0, 300, 60):
            for each in (made, whole):
                each.feed(*columns(events[at : at + 60]))
            before = made.known()
            survey = made.survey(program, True)
            assert survey.enforcing + survey.learning + survey.dead == len(before) * len(NINE.size)
            gone |= set(before) - set(made.known())
            assert made.pruned == len(gone)
        for each in (made, whole):
            each.drain()
        pruned += made.pruned
        for key in whole.known():
            if key in gone:
                assert made.pair(*key) is None
                made.remember(*key, [(0, 5)], [(1, 1)])
                assert made.counts(*key) is None
            else:
                assert made.counts(*key) == whole.counts(*key)
        assert set(made.known()) == set(whole.known()) - gone
    assert pruned > 0


# --- earlier runs -----------------------------------------------------------------------------------------------------


TWICE = templates.compile(["ab?", "aab?"])  # they tell one event from two


def kind_of(*letters: int, product: Product = NINE) -> int:
    return product.kind[state_after(product, letters)]


@pytest.mark.parametrize("make", CORES)
def test_earlier_runs_are_added(make: Make) -> None:
    good, alone, swapped = kind_of(0, 1), kind_of(0), kind_of(1, 0)
    made = make(NINE, 2, 0)
    made.remember(3, 5, [(good, 7), (alone, 2)], [(70, 1 << AB), (71, 1 << AB | 1 << BA)])
    assert made.known() == [(3, 5)]
    counts = made.counts(3, 5)
    assert counts is not None
    assert (counts.total, counts.satisfied[AB], counts.satisfied[BA], counts.contexts[:3]) == (9, 7, 0, (2, 1, 0))
    made.remember(3, 5, [(swapped, 1), (good, 1)], [(70, 1 << BA)])
    counts = made.counts(3, 5)
    assert counts is not None
    assert (counts.total, counts.satisfied[AB], counts.satisfied[BA], counts.contexts[:3]) == (11, 8, 1, (2, 2, 0))
    endings = tuple(Ending(kind, count, 0, ()) for kind, count in sorted([(good, 8), (alone, 2), (swapped, 1)]))
    assert made.pair(3, 5) == Pair(3, 5, 0, endings, ((70, 1 << AB | 1 << BA), (71, 1 << AB | 1 << BA)))


@pytest.mark.parametrize("make", CORES)
def test_a_remembered_kind_goes_on(make: Make) -> None:
    made = make(NINE, 2, 0)
    made.remember(0, 1, [(kind_of(0, 1), 7)], [])
    made.feed(*columns([Happening(0, 1, 1), Happening(1, 2, 1)]))
    made.drain()
    pair = made.pair(0, 1)
    assert pair is not None
    example = Example(1, 2, 1, 2, 1, True, ((0, 1), (1, 2)))
    assert pair.endings == (Ending(kind_of(0, 1), 8, 0, (example,)),)


@pytest.mark.parametrize("make", CORES)
def test_a_remembered_pair_counts_lone_events_from_now_on(make: Make) -> None:
    made = make(TWICE, 1, 0)
    made.feed(*columns([Happening(0, 1, 1), Happening(0, 2, 1), Happening(9, 0, 2), Happening(0, 3, 3)]))
    made.remember(0, 1, [], [])
    made.feed(*columns([Happening(0, 4, 3), Happening(9, 0, 5), Happening(0, 5, 6)]))
    made.drain()
    pair = made.pair(0, 1)
    assert pair is not None
    assert pair.created == 3
    one, two = kind_of(0, product=TWICE), kind_of(0, 0, product=TWICE)
    assert one != two
    assert [(ending.kind, ending.count) for ending in pair.endings] == sorted([(two, 1), (one, 1)])


@pytest.mark.parametrize("make", CORES)
def test_a_pair_that_is_remembered_in_the_middle_of_a_run_counts_the_rest(make: Make) -> None:
    made = make(TWICE, 1, 0)
    made.feed(*columns([Happening(0, 1, 1), Happening(0, 2, 1)]))  # one has left the window, one is in it
    made.remember(0, 1, [], [])
    made.drain()
    pair = made.pair(0, 1)
    assert pair is not None
    assert pair.endings == (Ending(kind_of(0, product=TWICE), 1, 2, ()),)  # the run that the event knows of had two


@pytest.mark.parametrize("make", CORES)
def test_what_is_remembered_came_before_every_ending(make: Make) -> None:
    made = make(NINE, 2, 0)
    made.remember(0, 1, [(kind_of(1, 0), 20)], [])
    made.feed(*columns([Happening(0, 1, 1), Happening(1, 2, 1)]))
    made.drain()
    candidates = made.survey([Instruction(Op.COUNT, 0, 0)], False).candidates
    assert Candidate(0, 1, BA, kind_of(0, 1)) in candidates


@pytest.mark.parametrize("make", CORES)
@pytest.mark.parametrize("failures", [0, 1, 5])
def test_a_remembered_failure_does_not_silence_the_same_failure(make: Make, failures: int) -> None:
    """If it did, `ab?`, which it satisfies, would be the better rule from the second run on."""
    made = make(NINE, 2, 0)
    made.remember(0, 1, [(kind_of(0, 1), 40), (kind_of(0), failures)], [])
    made.feed(*columns([Happening(0, 7, 99), Happening(0, 8, 98), Happening(1, 9, 98)]))
    made.drain()
    candidates = made.survey([Instruction(Op.RATIO, 0.75, 0.6, 32)], False).candidates
    assert [each for each in candidates if each.kind == kind_of(0)] == [Candidate(0, 1, AB, kind_of(0))]


# --- both cores -----------------------------------------------------------------------------------------------------


def in_order(made: window_protocol.Window) -> list[tuple[int, int]]:
    """The pairs by creation; those that one event made at once, by their numbers."""
    known = made.known()
    pairs = [made.pair(*key) for key in known]
    created = [pair.created for pair in pairs if pair is not None]
    assert len(created) == len(known)
    assert created == sorted(created)
    return [key for _, key in sorted(zip(created, known, strict=True))]


def everything(made: window_protocol.Window) -> tuple[Any, ...]:
    known = in_order(made)
    return (
        (made.size, made.events, made.pairs, made.pruned, made.given_up),
        known,
        [made.pair(*key) for key in known],
        [made.counts(*key) for key in known],
    )


@needs_native
@pytest.mark.parametrize("seed", range(8))
def test_both_cores_agree_on_everything(seed: int) -> None:
    random = Random(seed)
    for _ in range(60):
        product = NINE
        if random.random() < 0.3:
            product = templates.compile([random_template(random) for _ in range(random.randint(1, 5))])
        rules, kinds = len(product.size), len(product.satisfied)
        size = random.choice(SIZES)
        assert NATIVE is not None
        both: list[window_protocol.Window] = [window.Window(product, size), NATIVE(product, size)]
        for chunk in in_chunks(random, trace(random, random.choice((60, 400, 1500)))):
            program, prune = random_program(random), random.random() < 0.5
            resize = random.choice(SIZES) if random.random() < 0.2 else None
            one, other = random.sample(range(35), 2)
            endings = [(random.randrange(kinds), random.randrange(9)) for _ in range(random.randrange(4))]
            contexts = [(random.randrange(99), random.randrange(1 << rules)) for _ in range(random.randrange(5))]
            remembers, drains, surveys = (random.random() < 0.1 for _ in range(3))
            results: list[Survey] = []
            for made in both:
                made.feed(*columns(chunk))
                if resize is not None:
                    made.size = resize
                if remembers:
                    made.remember(min(one, other), max(one, other), endings, contexts)
                if drains:
                    made.drain()
                if surveys:
                    survey = made.survey(program, prune)
                    results.append(survey._replace(candidates=sorted(survey.candidates)))
            assert results[:1] == results[1:]
            if surveys:
                assert everything(both[0]) == everything(both[1])
        for made in both:
            made.drain()
        assert everything(both[0]) == everything(both[1])


def test_the_best_core_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core, "native", None)
    assert isinstance(window.make(NINE, 25), window.Window)
    if NATIVE is not None:
        monkeypatch.undo()
        assert isinstance(window.make(NINE, 25), NATIVE)

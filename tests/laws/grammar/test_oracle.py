"""The compiled automata against lark's Earley parser with attributes on the tree, on random grammars and traces."""

from __future__ import annotations

import pickle
import random
from collections import Counter
from itertools import islice

import pytest

from lawful import LawError, Verdict
from lawful.laws import grammar
from lawful.laws.grammar import GrammarLaw
from laws.grammar.tree_oracle import TERMINALS, RandomGrammar, events, random_grammar, random_trace

REFUSALS = {"view-conflict", "view-left-recursion", "view-endless"}


def usable(dice: random.Random, *, regular: bool) -> tuple[RandomGrammar, GrammarLaw]:
    """The next random grammar that compiles, and is regular or is not."""
    while True:
        made = random_grammar(dice, regular=regular)
        try:
            law = grammar.compile(made.view())
        except LawError as error:
            assert error.slug in REFUSALS, f"{error}\n{made.view()}"
            continue
        if law.regular is regular:
            return made, law


@pytest.mark.parametrize("regular", [True, False], ids=["regular", "nested"])
@pytest.mark.parametrize("seed", range(50))
def test_every_prefix_is_judged_as_the_tree_says(seed: int, regular: bool) -> None:
    dice = random.Random(f"{seed} {regular}")
    made, law = usable(dice, regular=regular)
    parser = made.lark()
    seen: Counter[str] = Counter()
    for _ in range(12):
        trace = random_trace(dice, made, 10)
        monitor = law.monitor()
        structure = made.tree(parser, trace)
        for number, event in enumerate(events(trace), 1):
            verdict = monitor.step(event)
            accepted = made.accepts(parser, trace[:number])
            if isinstance(monitor.rejected_at, int) or monitor.doomed_at is not None:
                seen["rejected"] += 1
                assert verdict is Verdict.FALSE and not accepted, (made.view(), trace[:number])
                # Whatever follows, it stays wrong.
                for _ in range(10):
                    longer = [(dice.choice(TERMINALS), dice.randint(0, 3)) for _ in range(dice.randint(1, 4))]
                    assert not made.accepts(parser, trace[:number] + longer), (made.view(), trace, longer)
                break
            assert verdict.accepts is accepted, (made.view(), trace[:number])
            assert not isinstance(structure, int) or number < structure, (made.view(), trace)
            seen[verdict] += 1
        outcome = law.check(events(trace))
        assert outcome.accepted is (made.accepts(parser, trace) if trace else True)
        assert pickle.loads(pickle.dumps(monitor)).outcome() == monitor.outcome()


def test_the_random_traces_show_all_sides() -> None:
    dice = random.Random(0)
    seen: Counter[tuple[bool, str | None]] = Counter()
    for _ in range(80):
        made, law = usable(dice, regular=dice.random() < 0.5)
        for _ in range(8):
            trace = random_trace(dice, made, 10)
            outcome = law.check(events(trace))
            at = outcome.rejected_at
            if trace:
                seen[law.regular, "event" if isinstance(at, int) else at] += 1
    for regular in (True, False):
        for place in ("event", "end", None):
            assert seen[regular, place] > 10, seen


@pytest.mark.parametrize("seed", range(40))
def test_groups_do_not_disturb_each_other(seed: int) -> None:
    dice = random.Random(seed)
    made, law = usable(dice, regular=dice.random() < 0.3)
    parser = made.lark()
    traces = [random_trace(dice, made, 8) for _ in range(4)]
    rests = [iter(events(trace, group)) for group, trace in enumerate(traces)]
    mixed = []
    while rests:
        rest = dice.choice(rests)
        step = list(islice(rest, dice.randint(1, 3)))
        mixed += step
        if not step:
            rests.remove(rest)
    assert law.check(mixed).accepted is all(made.accepts(parser, trace) for trace in traces if trace)


@pytest.mark.parametrize("seed", range(40))
def test_what_was_prevented_has_not_been(seed: int) -> None:
    dice = random.Random(seed)
    made, law = usable(dice, regular=dice.random() < 0.3)
    monitor, plain = law.monitor(), law.monitor()
    traces = [events(random_trace(dice, made, 12), group) for group in (1, 2)]
    for number, event in enumerate((each for pair in zip(*traces, strict=False) for each in pair), 1):
        monitor.step(event)
        if dice.random() < 0.5 or monitor.verdict is Verdict.FALSE:
            monitor.forgive()  # it may be another law that was broken
            monitor.prevented(number)
            monitor.prevented(number)  # once is enough
        else:
            plain.step(event)
        assert monitor.verdict is plain.verdict
        assert monitor.doomed_at is None
        assert monitor._machine.dump() == plain._machine.dump()
        assert list(monitor._machine.waiting()) == list(plain._machine.waiting())


@pytest.mark.parametrize("seed", range(40))
def test_what_is_forgiven_has_not_been(seed: int) -> None:
    dice = random.Random(seed)
    made, law = usable(dice, regular=dice.random() < 0.3)
    forgiving, plain = law.monitor(), law.monitor()
    for event in events(random_trace(dice, made, 20)):
        if forgiving.step(event) is Verdict.FALSE and not forgiving.forgive():
            break
        copy = pickle.loads(pickle.dumps(plain))
        if copy.step(event) is not Verdict.FALSE:
            plain = copy
        assert forgiving.verdict is plain.verdict
        assert forgiving._machine.dump() == plain._machine.dump()

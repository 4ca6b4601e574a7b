"""The self-tuner: it reaches the budget, its powers are those computed by hand, and it can be steered meanwhile."""

from __future__ import annotations

import pickle
import random
from collections import Counter
from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lawful.errors import LawfulError
from lawful.learning import strategies
from lawful.learning.tuner import LONGEST_STRIDE, MOST_MOVES, ThresholdMove, Tuner
from lawful.learning.window_protocol import RuleState

ALL = strategies.parse(strategies.DEFAULT)
CONTEXT = strategies.parse("context")
SEEDS = range(25)

Anomalies = Callable[[Mapping[str, float]], int]


def run(tuner: Tuner, anomalies: Anomalies, most: int = 100) -> list[int]:
    """The numbers of anomalies until the tuner rests."""
    seen = []
    for event in range(1, most + 1):
        seen.append(anomalies(tuner.values))
        if tuner.step(event, seen[-1]) is None:
            break
    return seen


def straight(values: Mapping[str, float]) -> int:
    """Two for each step of one threshold."""
    return round(90 - 2 * (values["count.enforce"] - 4))


def steep(values: Mapping[str, float]) -> int:
    """Halved with every few steps of the ratio, as far as that goes."""
    return round(320 * float(0.5 ** ((values["ratio.enforce"] - 0.75) / 0.02)))


def two(values: Mapping[str, float]) -> int:
    """The one is quick, the other one slow: both have to play a part."""
    return max(round(500 - 60 * values["context.enforce"] - (values["count.enforce"] - 4)), 0)


@pytest.mark.parametrize("anomalies", [straight, steep, two])
@pytest.mark.parametrize("seed", SEEDS)
def test_it_reaches_the_budget(anomalies: Anomalies, seed: int) -> None:
    tuner = Tuner(ALL, None, 10, seed)
    seen = run(tuner, anomalies)
    assert seen[-1] == 10
    assert tuner.step(1000, 10) is None


def population(seed: int, size: int) -> Anomalies:
    """Rules that have failed, with made-up evidence: as many anomalies as are enforced."""
    rng = random.Random(seed)
    rules = []
    for _ in range(size):
        total = min(int(rng.paretovariate(0.6)) + 1, 100_000)
        failed = max(1, int(total * rng.random() ** 3 * 0.4))
        rules.append((max(total - failed, 0), total, min(int(rng.paretovariate(1)), total)))

    def anomalies(values: Mapping[str, float]) -> int:
        return sum(strategies.judge(ALL.program(values), *rule) is RuleState.ENFORCING for rule in rules)

    return anomalies


@pytest.mark.parametrize("seed", range(8))
def test_it_comes_near_to_the_budget_with_rules_of_all_kinds(seed: int) -> None:
    anomalies = population(seed, 1000)
    tuner = Tuner(ALL, None, 10, seed)
    seen = run(tuner, anomalies, 60)
    assert seen[0] > 200
    assert min(abs(number - 10) for number in seen) <= 4  # a step may change more than one anomaly
    assert sorted(seen[-5:])[len(seen[-5:]) // 2] <= 20


@given(st.integers(0, 1000), st.lists(st.integers(0, 60), max_size=60))
def test_values_stay_between_the_start_and_the_strictest(seed: int, numbers: list[int]) -> None:
    tuner = Tuner(ALL, {"ratio.patience": 30}, 10, seed)
    start = tuner.values
    for event, number in enumerate(numbers):
        before = tuner.values
        move = tuner.step(event, number)
        changed = {name: value for name, value in tuner.values.items() if value != before[name]}
        if move is None:
            assert not changed
            continue
        assert changed == {move.variable: move.new}
        assert move.old == before[move.variable]
        assert move.before == 10 - number
        threshold = ALL.threshold(move.variable)
        # To the stricter if there are too many, and back if there are too few.
        assert (move.new - move.old) * threshold.stricter * (number - 10) > 0
        assert abs(move.new - move.old) <= LONGEST_STRIDE * threshold.step + 1e-6
        ends = sorted((start[move.variable], threshold.strictest))
        assert ends[0] <= move.new <= ends[1]
        assert threshold.check(move.new) == move.new


@given(st.integers(0, 1000), st.lists(st.integers(0, 60), max_size=40))
def test_powers_are_the_means_of_the_last_three_effects(seed: int, numbers: list[int]) -> None:
    tuner = Tuner(ALL, None, 10, seed)
    effects: dict[str, list[float]] = {threshold.name: [] for threshold in ALL.thresholds}
    last: ThresholdMove | None = None
    for event, number in enumerate(numbers):
        if last is not None:
            threshold = ALL.threshold(last.variable)
            steps = (last.new - last.old) / threshold.step * threshold.stricter
            effects[last.variable].append(((10 - number) - last.before) / steps)
        last = tuner.step(event, number)
        for name, observed in effects.items():
            recent = observed[-3:]
            expected = pytest.approx(sum(recent) / len(recent)) if recent else None
            assert tuner.power(name) == expected


def test_powers_by_hand() -> None:
    tuner = Tuner(CONTEXT, None, 10, seed=7)
    assert tuner.power("context.enforce") is None
    assert tuner.step(100, 40) == ThresholdMove(100, "context.enforce", 1, 2, -30)
    # One step made six fewer: 24 more to go are four steps.
    assert tuner.step(200, 34) == ThresholdMove(200, "context.enforce", 2, 6, -24)
    assert tuner.power("context.enforce") == 6
    # Four steps made 20 fewer, 5 each, and 6 before: 5.5; the 4 that are left are one step.
    assert tuner.step(300, 14) == ThresholdMove(300, "context.enforce", 6, 7, -4)
    assert tuner.power("context.enforce") == 5.5
    # Now there are three too few: one step back.
    assert tuner.step(400, 7) == ThresholdMove(400, "context.enforce", 7, 6, 3)
    assert tuner.power("context.enforce") == (6 + 5 + 7) / 3
    # A step back made four more, so a step is worth four; the first effect is forgotten.
    assert tuner.step(500, 11) == ThresholdMove(500, "context.enforce", 6, 7, -1)
    assert tuner.power("context.enforce") == (5 + 7 + 4) / 3
    assert tuner.step(600, 10) is None
    assert [(move.event, move.before, move.after) for move in tuner.moves] == [
        (100, -30, -24),
        (200, -24, -4),
        (300, -4, 3),
        (400, 3, -1),
        (500, -1, 0),
    ]


def test_the_powerful_variables_are_favoured() -> None:
    chosen: Counter[str] = Counter()
    for seed in range(100):
        tuner = Tuner(ALL, None, 10, seed)
        for event in range(30):
            if tuner.step(event, straight(tuner.values)) is None:
                break
        chosen += Counter(move.variable for move in tuner.moves)
    (name, most), (_, second) = chosen.most_common(2)
    assert name == "count.enforce"
    assert most > 2 * second


def test_no_move_at_zero_nor_where_nothing_can_move() -> None:
    tuner = Tuner(CONTEXT, None, 10)
    assert tuner.step(1, 10) is None
    assert tuner.step(2, 3) is None  # too few, but it is as loose as it may be
    strictest = CONTEXT.threshold("context.enforce").strictest
    tuner = Tuner(CONTEXT, {"context.enforce": strictest}, 10)
    assert tuner.step(1, 500) is None
    assert tuner.values == {"context.enforce": strictest}
    assert not tuner.moves


def test_too_strict_a_move_is_taken_back_by_half() -> None:
    tuner = Tuner(CONTEXT, None, 10)
    tuner.step(1, 60)
    assert tuner.step(2, 50) == ThresholdMove(2, "context.enforce", 2, 6, -40)
    assert tuner.step(3, 0) == ThresholdMove(3, "context.enforce", 6, 4, 10)


def test_the_same_seed_makes_the_same_moves() -> None:
    def moves(seed: int) -> list[ThresholdMove]:
        tuner = Tuner(ALL, None, 10, seed)
        run(tuner, population(1, 300), 25)
        return list(tuner.moves)

    assert moves(3) == moves(3)
    assert moves(3) != moves(4)


def test_it_goes_on_after_pickling() -> None:
    anomalies = population(2, 400)
    tuner = Tuner(ALL, None, 10, 5)
    run(tuner, anomalies, 7)
    copy = pickle.loads(pickle.dumps(tuner))
    assert run(copy, anomalies, 20) == run(tuner, anomalies, 20)
    assert copy.moves == tuner.moves
    assert copy.values == tuner.values


def test_the_user_may_change_values_and_the_budget_at_any_time() -> None:
    tuner = Tuner(CONTEXT, None, 10)
    tuner.step(1, 40)
    tuner.set("context.enforce", 5)
    assert tuner.step(2, 4) is None  # 5 is as loose as it may be now
    assert tuner.power("context.enforce") is None  # and what changed is not the effect of the tuner's move
    assert tuner.moves[-1].after is None
    assert tuner.step(3, 30) == ThresholdMove(3, "context.enforce", 5, 6, -20)
    tuner.budget = 26
    assert tuner.step(4, 28) == ThresholdMove(4, "context.enforce", 6, 7, -2)
    assert tuner.power("context.enforce") == 2  # of the move, not of the new budget
    tuner.set("context.enforce", 0)
    assert tuner.values == {"context.enforce": 0}
    tuner.values["context.enforce"] = 3  # a copy
    assert tuner.values == {"context.enforce": 0}


def test_what_is_refused() -> None:
    tuner = Tuner(CONTEXT, None, 10)
    for change, slug in [
        (lambda: tuner.set("context.enforce", -1), "threshold-range"),
        (lambda: tuner.set("ratio.enforce", 0.5), "threshold-unknown"),
        (lambda: Tuner(CONTEXT, {"context": 1}, 10), "threshold-unknown"),
    ]:
        with pytest.raises(LawfulError) as caught:
            change()
        assert caught.value.slug == slug
    assert tuner.values == {"context.enforce": 1}


def test_old_moves_are_forgotten() -> None:
    tuner = Tuner(CONTEXT, None, 10)
    for event in range(MOST_MOVES + 50):
        assert tuner.step(event, 11 if tuner.values["context.enforce"] == 1 else 9)
    assert len(tuner.moves) == MOST_MOVES
    assert tuner.moves[0].event == 50

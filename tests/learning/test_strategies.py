"""Strategies: the paper's tables, thresholds, programs for the stack, and what is refused."""

from __future__ import annotations

import math
import pickle
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lawful.errors import LawfulError
from lawful.learning import strategies
from lawful.learning.window_protocol import Instruction, Op, RuleState

E, L, D = RuleState.ENFORCING, RuleState.LEARNING, RuleState.DEAD

# The tables of section 3.3, as they are printed.
JOIN = {
    E: {E: E, L: E, D: E},
    L: {E: E, L: L, D: L},
    D: {E: E, L: L, D: D},
}
MEET = {
    E: {E: E, L: L, D: D},
    L: {E: L, L: L, D: D},
    D: {E: D, L: D, D: D},
}

NESTED = st.recursive(
    st.sampled_from(["count", "ratio", "context"]),
    lambda inner: st.builds(
        lambda name, parts: f"{name}({', '.join(parts)})",
        st.sampled_from(["meet", "join"]),
        st.lists(inner, min_size=1, max_size=4),
    ),
    max_leaves=12,
)
VALUES = st.fixed_dictionaries(
    {
        "count.enforce": st.integers(0, 6),
        "count.dead": st.integers(0, 6),
        "ratio.enforce": st.floats(0, 1),
        "ratio.dead": st.floats(0, 1),
        "ratio.patience": st.integers(1, 6),
        "context.enforce": st.integers(0, 4),
    }
)


def own(strategy: strategies.Strategy, values: dict[str, float]) -> dict[str, float]:
    return {threshold.name: values[threshold.name] for threshold in strategy.thresholds}


def by_table(text: str, satisfied: int, total: int, contexts: int, values: dict[str, float]) -> RuleState:
    """An oracle: the text is itself an expression of Python."""

    def folded(table: dict[RuleState, dict[RuleState, RuleState]], *states: RuleState) -> RuleState:
        result = states[0]
        for state in states[1:]:
            result = table[result][state]
        return result

    share = satisfied / total if total else 0
    count = E if satisfied > values["count.enforce"] else D if satisfied < values["count.dead"] else L
    weak = share < values["ratio.dead"] and total >= values["ratio.patience"]
    names = {
        "count": count,
        "ratio": E if share > values["ratio.enforce"] else D if weak else L,
        "context": E if contexts >= values["context.enforce"] else L,
        "meet": lambda *states: folded(MEET, *states),
        "join": lambda *states: folded(JOIN, *states),
    }
    result = eval(text, {}, names)
    assert isinstance(result, RuleState)
    return result


def on_a_stack(program: list[Instruction], satisfied: int, total: int, contexts: int) -> RuleState:
    """The instructions as `Op` explains them, with the tables for the two operators."""
    stack: list[RuleState] = []
    share = satisfied / total if total else 0
    for op, x, y, z in program:
        if op == Op.COUNT:
            stack.append(E if satisfied > x else D if satisfied < y else L)
        elif op == Op.RATIO:
            stack.append(E if share > x else D if share < y and total >= z else L)
        elif op == Op.CONTEXT:
            stack.append(E if contexts >= x else L)
        else:
            right, left = stack.pop(), stack.pop()
            stack.append((JOIN if op == Op.JOIN else MEET)[left][right])
        assert len(stack) <= 64  # as many as the C core has room for
    assert len(stack) == 1
    return stack[0]


@given(NESTED, VALUES, st.integers(0, 8), st.integers(0, 8), st.integers(0, 5))
def test_verdicts_are_those_of_the_tables_and_of_the_program(
    text: str, values: dict[str, float], satisfied: int, failed: int, contexts: int
) -> None:
    strategy = strategies.parse(text)
    total = satisfied + failed
    expected = by_table(text, satisfied, total, contexts, values)
    assert strategies.judge(strategy.program(values), satisfied, total, contexts) is expected
    assert on_a_stack(strategy.program(values), satisfied, total, contexts) is expected
    assert strategy.text == text
    assert strategies.parse(f"  {text} ".replace(",", " ,\n").replace("(", " (")) == strategy
    assert strategy.values(own(strategy, values)) == own(strategy, values)


@pytest.mark.parametrize(("name", "table"), [("join", JOIN), ("meet", MEET)])
def test_tables(name: str, table: dict[RuleState, dict[RuleState, RuleState]]) -> None:
    # Evidence for which `count` and `ratio` say what the row and the column of the table are.
    values = strategies.parse("meet(count, ratio)").values(
        {"count.enforce": 20, "count.dead": 10, "ratio.enforce": 0.8, "ratio.dead": 0.5, "ratio.patience": 1}
    )
    strategy = strategies.parse(f"{name}(count, ratio)")
    for (row, satisfied), (column, share) in product({E: 24, L: 12, D: 6}.items(), {E: 0.9, L: 0.6, D: 0.3}.items()):
        total = round(satisfied / share)
        assert strategies.judge(strategies.parse("count").program(values), satisfied, total, 0) is row
        assert strategies.judge(strategies.parse("ratio").program(values), satisfied, total, 0) is column
        assert strategies.judge(strategy.program(values), satisfied, total, 0) is table[row][column]


def test_the_default() -> None:
    strategy = strategies.parse(strategies.DEFAULT)
    assert strategy.values() == {
        "count.enforce": 4,
        "count.dead": 0,
        "ratio.enforce": 0.75,
        "ratio.dead": 0.6,
        "ratio.patience": 32,
        "context.enforce": 1,
    }
    assert strategy.program(strategy.values({"ratio.dead": 0.5})) == [
        Instruction(Op.COUNT, 4, 0),
        Instruction(Op.RATIO, 0.75, 0.5, 32),
        Instruction(Op.MEET),
        Instruction(Op.CONTEXT, 1),
        Instruction(Op.MEET),
    ]


def test_thresholds_are_those_that_are_used() -> None:
    names = [threshold.name for threshold in strategies.parse("join(ratio, meet(context, ratio))").thresholds]
    assert names == ["ratio.enforce", "ratio.dead", "ratio.patience", "context.enforce"]
    assert list(strategies.parse("context").values()) == ["context.enforce"]


@given(
    VALUES, st.integers(0, 40), st.integers(0, 40), st.integers(0, 5), st.sampled_from(sorted(strategies.THRESHOLDS))
)
def test_a_stricter_value_never_says_more(
    values: dict[str, float], satisfied: int, failed: int, contexts: int, name: str
) -> None:
    strategy = strategies.parse(strategies.DEFAULT)
    threshold = strategies.THRESHOLDS[name]
    loose = strategies.judge(strategy.program(values), satisfied, satisfied + failed, contexts)
    strict = {**values, name: values[name] + threshold.stricter * threshold.step}
    assert strategies.judge(strategy.program(strict), satisfied, satisfied + failed, contexts) <= loose


def test_bounds_are_in_order() -> None:
    for threshold in strategies.THRESHOLDS.values():
        ends = sorted((threshold.default, threshold.strictest))
        assert threshold.lower <= ends[0] < ends[1] <= threshold.upper
        assert 0 < threshold.step <= ends[1] - ends[0]
        assert threshold.check(threshold.strictest) == threshold.strictest


def test_it_can_be_sent_elsewhere() -> None:
    strategy = strategies.parse("meet(count, join(ratio, context))")
    assert strategy.text
    assert pickle.loads(pickle.dumps(strategy)) == strategy


@pytest.mark.parametrize(
    ("text", "slug", "column"),
    [
        ("", "strategy-syntax", 1),
        ("  ", "strategy-syntax", 3),
        ("meet", "strategy-syntax", 5),
        ("meet()", "strategy-syntax", 6),
        ("meet(count", "strategy-syntax", 11),
        ("meet(count ratio)", "strategy-syntax", 12),
        ("meet(count,)", "strategy-syntax", 12),
        ("meet(, count)", "strategy-syntax", 6),
        ("count, ratio", "strategy-syntax", 6),
        ("count)", "strategy-syntax", 6),
        ("count(3)", "strategy-syntax", 6),
        ("meet(count, 3)", "strategy-syntax", 13),
        ("count\x1b[31m", "strategy-syntax", 6),
        ("counts", "strategy-unknown", 1),
        ("meet(count, Ratio)", "strategy-unknown", 13),
        ("meet(count, joint(ratio))", "strategy-unknown", 13),
        ("meet(" * 1000 + "count" + ")" * 1000, "strategy-syntax", 5 * 33),
        (f"meet({'count, ' * 400}count)", "strategy-syntax", None),
    ],
)
def test_what_is_refused(text: str, slug: str, column: int | None) -> None:
    with pytest.raises(LawfulError) as caught:
        strategies.parse(text)
    assert caught.value.slug == slug
    assert "\x1b" not in str(caught.value)
    assert caught.value.where is not None
    assert column is None or caught.value.where.endswith(f", column {column}")


def test_hints_name_what_was_meant() -> None:
    with pytest.raises(LawfulError, match="did you mean `ratio`"):
        strategies.parse("meet(count, Ratio)")
    with pytest.raises(LawfulError, match=r"did you mean `count\.enforce`"):
        strategies.parse("count").values({"count.enforced": 3})


@pytest.mark.parametrize(
    ("name", "value", "slug"),
    [
        ("count.enforce", -1, "threshold-range"),
        ("count.enforce", 2.5, "threshold-range"),
        ("count.dead", math.inf, "threshold-range"),
        ("ratio.enforce", 1.01, "threshold-range"),
        ("ratio.enforce", math.nan, "threshold-range"),
        ("ratio.patience", 0, "threshold-range"),
        ("ratio.patience", 10**400, "threshold-range"),
        ("context.enforce", 1, "threshold-unknown"),
        ("enforce", 1, "threshold-unknown"),
        ("", 1, "threshold-unknown"),
    ],
)
def test_thresholds_that_are_refused(name: str, value: float, slug: str) -> None:
    with pytest.raises(LawfulError) as caught:
        strategies.parse("meet(count, ratio)").values({name: value})
    assert caught.value.slug == slug


def test_values_may_come_as_text() -> None:
    assert strategies.THRESHOLDS["ratio.enforce"].check("0.9") == 0.9  # type: ignore[arg-type]
    with pytest.raises(LawfulError, match="`much` is not a number"):
        strategies.THRESHOLDS["ratio.enforce"].check("much")  # type: ignore[arg-type]

"""Random sampling policies, all of them sound."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import strategies as st

from lawful.confidence.policy_automaton import MOST_NUMBER, MOST_SIDES, Auto, Policy, PolicyState, Transition, Trigger
from lawful.confidence.policy_run import PolicyRun

WORDS = "policy start state sample all none in by at go on after target code x watch thin-2 été s_1 seconds".split()

names = st.one_of(st.sampled_from(WORDS), st.from_regex(r"[^\W\d][\w-]{0,8}", fullmatch=True))
rates = st.one_of(
    st.sampled_from([Fraction(0), Fraction(1), Fraction(1, 8), Fraction(2, 3)]),
    st.fractions(0, 1, max_denominator=MOST_SIDES),
)
amounts = st.one_of(
    st.sampled_from([Fraction(5, 100), Fraction(600), Fraction(1, 3), Fraction(3, 2)]),
    st.fractions(Fraction(1, 10**9), 10**9, max_denominator=10**12),
    st.fractions(Fraction(1, MOST_NUMBER), MOST_NUMBER, max_denominator=MOST_NUMBER),
)


def clean(policy_run: PolicyRun, lives: int) -> bool:
    """So many lives end clean; must whoever flips the coins ask again?"""
    told = [policy_run.clean() for _ in range(lives)]
    return any(told)


bounds = rates.filter(lambda rate: rate > 0)


@st.composite
def autos(draw: st.DrawFn) -> Auto:
    share = draw(amounts)
    if draw(st.booleans()):
        return Auto(share)
    least, most = sorted([draw(bounds), draw(bounds)])
    return Auto(share, least, most)


@st.composite
def policies(draw: st.DrawFn, most_samples: int = MOST_NUMBER) -> Policy:
    """Every state after the first is the target of one before it, so that all can be reached."""
    found = draw(st.lists(names, min_size=1, max_size=5, unique=True))
    states = [PolicyState(name, draw(st.one_of(rates, autos()))) for name in found]
    ways: dict[tuple[str, Trigger], Transition] = {}

    def add(source: str, trigger: Trigger, target: str) -> None:
        amount: int | Fraction | None = None
        if trigger is Trigger.TARGET:
            amount = draw(st.none() | st.integers(1, most_samples))
        elif trigger in (Trigger.TIME, Trigger.OVERHEAD_ABOVE, Trigger.OVERHEAD_BELOW):
            amount = draw(amounts)
        ways.setdefault((source, trigger), Transition(source, trigger, target, amount))

    for number in range(1, len(found)):
        before = draw(st.integers(0, number - 1))
        free = [trigger for trigger in Trigger if (found[before], trigger) not in ways]
        add(found[before], draw(st.sampled_from(free)), found[number])
    for _ in range(draw(st.integers(0, 6))):
        add(draw(st.sampled_from(found)), draw(st.sampled_from(Trigger)), draw(st.sampled_from(found)))
    states = draw(st.permutations(states))
    # In the order in which the text has them, where ways stand below their states.
    ordered = [way for state in states for way in ways.values() if way.source == state.name]
    return Policy(draw(names), tuple(states), found[0], tuple(ordered))

"""Whatever is written, an invariant is a law or an error with a slug; whatever happens, its monitor goes on."""

from __future__ import annotations

import pickle
import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from lawful import LawError, Verdict, invariants
from lawful.laws.invariants.expressions import FAULTS, Expression, ExpressionError, NotYet, Step, parse

WORDS = (
    "o.x new.x old.x o . x ( ) [ ] , and or not in is None 1 2.5 'a' + - * / // % ** < <= == != abs min max len "
    "called returned raised created gone args kwargs res args[0] kwargs['n'] if else lambda : := # \n \t \0 é { } f''"
).split(" ")
TOML = """[[invariant]]
class = "app.A"
always = "o.x >= 0"
on = "called('f')"

[[invariant]]
class = 'app.A'
when = "created()"
then = '''called("g")'''
within = "2s"
[[invariant]]
use = "closed"
class = "app.A"
within = 3
"""


@given(st.lists(st.sampled_from(WORDS), max_size=12), st.sampled_from(["", " "]))
def test_an_expression_is_one_or_an_error(words: list[str], between: str) -> None:
    text = between.join(words)
    try:
        found = parse(text, "app.A")
    except ExpressionError as error:
        assert error.slug.startswith("invariant-")
        assert 0 <= error.span[0] <= error.span[1] <= len(text)
        return
    assert isinstance(found, Expression)
    for key in (("field_write", "app.A.x"), ("func_post", "app.A.f"), ("new", "app.A")):
        try:
            found.evaluate(Step(key, {"res": 1, "args": [1]}, {"x": 1}))
        except (NotYet, *FAULTS):
            continue


@given(st.text(max_size=30))
def test_any_text_is_an_expression_or_an_error(text: str) -> None:
    try:
        assert parse(text, "app.A").keys
    except ExpressionError as error:
        assert 0 <= error.span[0] <= error.span[1] <= len(text)


@given(st.integers(0, 10**6), st.integers(1, 6))
def test_a_file_is_a_law_or_an_error(seed: int, changes: int) -> None:
    source = random.Random(seed)
    text = TOML
    for _ in range(changes):
        at = source.randrange(len(text) + 1)
        end = min(len(text), at + source.randrange(4))
        text = text[:at] + source.choice(["", "'", '"', "[", "=", "\n", "x", "\\", "#", text[at:end] * 2]) + text[end:]
    try:
        law = invariants.compile(text, name="a.toml")
    except LawError as error:
        assert error.slug.startswith("invariant-")
        assert error.where is not None and error.where.startswith("a.toml:")
        assert error.render()
        return
    assert law.parts
    assert pickle.loads(pickle.dumps(law)).name == "a.toml"


VALUES = st.sampled_from([None, True, 0, 1, -1, 2.5, "x", [], {}, [1], {"a": 1}, 10**30])
KEYS = st.sampled_from(["event", "name", "targetId", "res", "resultId", "args", "argIds", "kwargs", "time"])
KINDS = st.sampled_from(["new", "gone", "field_write", "func_pre", "func_post", "tick"])
NAMES = st.sampled_from(["app.A", "app.A.x", "app.A.f", "app.A.g", "other"])
EVENTS = st.builds(
    lambda kind, name, target, time, more: {"event": kind, "name": name, "targetId": target, "time": time} | more,
    KINDS,
    NAMES,
    st.integers(1, 3),
    st.integers(0, 20),
    st.dictionaries(KEYS, VALUES, max_size=2),
)
LAW = invariants.compile(
    TOML.replace("o.x >= 0", "o.x >= 0 and args[0] != res").replace("called('f')", "returned('f')")
)


@given(st.lists(EVENTS, max_size=20))
def test_whatever_happens_the_monitor_goes_on(events: list[dict[str, Any]]) -> None:
    monitor = LAW.monitor()
    for number, event in enumerate(events, 1):
        LAW.subjects.of(event)
        if monitor.step(event) is Verdict.FALSE:
            assert monitor.rejected_at == number
            assert monitor.expectation(event).expected
            assert monitor.forgive()
        monitor = pickle.loads(pickle.dumps(monitor))
    assert monitor.end() in (Verdict.TRUE, Verdict.FALSE)
    assert isinstance(monitor.warnings(), tuple)

"""What groups are in a running program, as views, options and configurations say it."""

from __future__ import annotations

import pickle

import pytest

from lawful import LawError, LawfulError, grammar
from lawful.laws.grammar.groups import Binding, read_binding

REST = "view V specifies G { send A.m() m } S ::= epsilon | m S"


def test_a_view_says_what_its_groups_are() -> None:
    law = grammar.compile(
        f"""
        group G is class app.Worker, task "worker-*";
        group G is actor app.Worker;
        group Other is module app.net
        class A is app.things.A;
        {REST}
        """
    )
    assert law.groups == {
        "G": (Binding("class", "app.Worker"), Binding("task", "worker-*"), Binding("actor", "app.Worker")),
        "Other": (Binding("module", "app.net"),),
    }
    assert law.classes == {"A": "app.things.A"}
    other = pickle.loads(pickle.dumps(law))
    assert (other.groups, other.classes) == (law.groups, law.classes)


def test_the_words_of_it_are_free_elsewhere() -> None:
    law = grammar.compile(
        """
        group group is class class;
        view view specifies group { send is.class(Int group) is, receive task.actor(Int is) group }
        S ::= epsilon | is task | group S
        task ::= epsilon | is S
        """
    )
    assert law.groups == {"group": (Binding("class", "class"),)}
    assert law.group == "group"


def test_it_may_stand_in_the_file_of_the_grammar() -> None:
    text = "view V grammar x.g specifies G { send A.m() m }"
    law = grammar.compile(text, grammar="group G is class W; S ::= epsilon | m S")
    assert law.groups == {"G": (Binding("class", "W"),)}


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("group G is clas app.W; ", "expected `class`, `task`, `actor` or `module`"),
        ("group G is class; ", "expected a name or a text"),
        ('group G is task ""; ', None),
    ],
)
def test_mistakes_are_told(text: str, hint: str | None) -> None:
    with pytest.raises(LawError) as caught:
        grammar.compile(text + REST)
    assert caught.value.slug == "view-syntax" and (hint is None or hint in caught.value.render())


def test_options() -> None:
    assert read_binding("class:app.Worker") == Binding("class", "app.Worker")
    assert read_binding("task:worker-*") == Binding("task", "worker-*")
    assert read_binding('task "worker *"') == Binding("task", "worker *")
    assert str(read_binding("module:app.net")) == "module app.net"


@pytest.mark.parametrize("text", ["", "class", "class:", "clas:x", "app.Worker"])
def test_options_that_say_nothing(text: str) -> None:
    with pytest.raises(LawfulError) as caught:
        read_binding(text)
    assert caught.value.slug == "group-binding" and caught.value.hint

"""Inputs that are not numbers: Lawful makes the objects of pointers, up to the bound, and shows them."""

from __future__ import annotations

import json
import re
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from explain.teachers.c.requirements import needs_cbmc
from lawful.explain.automata import words
from lawful.explain.settings import TeacherName
from lawful.explain.teacher import Bounds
from lawful.explain.teachers.c import c_teacher
from lawful.explain.teachers.c.one_run_teacher import OneRunTeacher
from lawful.explain.teachers.c.query_teacher import QueryTeacher

pytestmark = needs_cbmc

LIST = """
struct node { int value; struct node *next; };
void f(const struct node *list, int *limit)
{
    for (const struct node *at = list; at; at = at->next)
        if (at->value > 5) Learn("big"); else Learn("small");
    assert(!(list && list->next && limit && *limit == 7));
}
"""


def one_run(folder: Path, text: str, **options: Any) -> OneRunTeacher:
    path = folder / "program.c"
    path.write_text(text)
    teacher = c_teacher(path, "f", **options)
    assert isinstance(teacher, OneRunTeacher)
    return teacher


def examples(teacher: OneRunTeacher, unwind: int, length: int) -> dict[tuple[str, ...], str]:
    """The failing words, each with its input."""
    teacher.bound(Bounds(unwind, length))
    found = {}
    for word in words(teacher.failing, length):
        execution = teacher.example(word)
        assert execution is not None and execution.example is not None
        found[teacher.alphabet.spelled(word)[:-1]] = execution.example
    return found


def parsed(text: str) -> Any:
    """What an input says, with lists of members for structures."""
    text = re.sub(r"(\w+) = ", r'"\1": ', f"{{{text}}}").replace("NULL", "null").replace("&", "")
    return json.loads(text)


def numbers(node: Any) -> list[int]:
    return [] if node is None else [node["value"], *numbers(node["next"])]


@pytest.mark.parametrize("unwind", [2, 3, 4])
def test_lists_are_as_long_as_the_unwinding_and_shown(tmp_path: Path, unwind: int) -> None:
    found = examples(one_run(tmp_path, LIST), unwind, 6)
    # The loop is left after so many turns at most.
    lengths = range(2, unwind)
    expected = {word for length in lengths for word in product(("small", "big"), repeat=length)}
    assert set(found) == expected
    for word, text in found.items():
        given = parsed(text)
        assert tuple("big" if value > 5 else "small" for value in numbers(given["list"])) == word
        assert given["limit"] == 7


@pytest.mark.parametrize("way", ["one-run", "asking"])
def test_both_teachers_show_what_is_pointed_to(tmp_path: Path, way: TeacherName) -> None:
    path = tmp_path / "program.c"
    path.write_text(LIST)
    teacher = c_teacher(path, "f", way=way)
    teacher.bound(Bounds(3, 4))
    for labels in (("small", "big"), ("big", "big")):
        execution = teacher.example(teacher.alphabet.word(*labels, "assert"))
        assert execution is not None and execution.example is not None
        given = parsed(execution.example)
        assert ["big" if value > 5 else "small" for value in numbers(given["list"])] == [*labels]
        assert given["limit"] == 7
    passing = teacher.example(())
    assert passing is not None and passing.example is not None and passing.example.startswith("list = NULL, limit = ")
    assert isinstance(teacher, OneRunTeacher if way == "one-run" else QueryTeacher)


def test_a_list_of_one_does_not_fail_and_says_so_by_its_shape(tmp_path: Path) -> None:
    teacher = one_run(tmp_path, LIST)
    teacher.bound(Bounds(4, 5))
    execution = teacher.example(teacher.alphabet.word("big"))
    assert execution is not None and not execution.failed
    assert execution.example == "list = {value = 15, next = NULL}, limit = NULL"


@pytest.mark.parametrize(
    ("declarations", "parameters", "condition", "shown"),
    [
        ("struct p { short x; const int y; };", "struct p a", "a.x == 3 && a.y == -4", "a = {x = 3, y = -4}"),
        ("", "int v[3]", "v && v[0] + v[2] == 7 && v[0] == 1 && v[1] == 2", "v = {1, 2, 6}"),
        ("", "char **names", "names && *names && **names == 'c'", "names = &&99"),
        ("", "double *d", "d && *d == 0.5", "d = &0.5"),
        ("typedef struct node { int n; struct node *up; } *link;", "link a", "a && a->n == 1 && a->up", None),
        ("enum e { X, Y, Z };", "enum e *a", "a && *a == Z", "a = &2"),
        ("struct s { char c[3]; unsigned b : 3; union { int u; }; _Bool on; };", "struct s *a", "a && a->on", None),
        ("struct hidden;", "struct hidden *a, void *b", "a && b", "a = {}, b = {}"),
        ("struct t { int n; struct t *left, *right; };", "struct t *a", "a && a->right && !a->left", None),
        ("struct b; struct a { struct b *b; }; struct b { struct a *a; };", "struct a *a", "a && a->b->a", None),
        ("typedef struct { int n; } thing;", "const thing *const a", "a && a->n == 2", "a = {n = 2}"),
        ("struct o { int (*act)(void); const char *const text; };", "struct o *a", "a && a->text", "a = {text = &any}"),
    ],
    ids="value array pointers double typedef enum members opaque tree mutual const act".split(),
)
def test_many_types(tmp_path: Path, declarations: str, parameters: str, condition: str, shown: str | None) -> None:
    text = f'{declarations}\nvoid f({parameters}) {{ Learn("a"); assert(!({condition})); }}\n'
    found = examples(one_run(tmp_path, text), 3, 3)
    assert set(found) == {("a",)}
    if shown is not None:
        assert found["a",] == shown


def test_shapes_of_trees_and_of_what_points_to_each_other(tmp_path: Path) -> None:
    tree = "struct t { int n; struct t *left, *right; };"
    text = f'{tree}\nvoid f(struct t *a) {{ Learn("a"); assert(!(a && a->right && a->right->n == 2)); }}\n'
    assert examples(one_run(tmp_path, text), 3, 3) == {
        ("a",): "a = {n = any, left = NULL, right = {n = 2, left = NULL, right = NULL}}"
    }
    names = "struct b; struct a { int n; struct b *b; }; struct b { struct a *a; };"
    text = f'{names}\nvoid f(struct a *a) {{ Learn("a"); assert(!(a && a->b && a->b->a && a->b->a->n == 1)); }}\n'
    assert examples(one_run(tmp_path, text), 3, 3) == {("a",): "a = {n = any, b = {a = {n = 1, b = NULL}}}"}


def test_what_cannot_be_made_is_said_to_be_anything(tmp_path: Path) -> None:
    text = 'void f(int (*act)(int), int n) { Learn("a"); assert(n != 3); }\n'
    teacher = one_run(tmp_path, text)
    assert examples(teacher, 2, 3) == {("a",): "n = 3"}
    assert teacher.report.warnings == ["parameter act of f() may be anything, and explanations do not show it"]


def test_a_function_without_a_body_that_gives_a_pointer(tmp_path: Path) -> None:
    text = """
    struct node { int value; struct node *next; };
    struct node *fetch(int which);
    void f(void)
    {
        struct node *a = fetch(1), *b = fetch(2);
        Learn("a");
        assert(!(a && a->value == 4 && b == 0));
    }
    """
    teacher = one_run(tmp_path, text)
    assert examples(teacher, 2, 3) == {("a",): "fetch() = {value = 4, next = NULL}, fetch() = NULL"}
    assert teacher.report.warnings == [
        "fetch() has no body: Lawful assumes that it returns NULL, or a pointer to one object with any content"
    ]

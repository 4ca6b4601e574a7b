"""Reading C: which programs Lawful accepts, which events it chooses, and its errors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("pycparser")

from lawful.errors import LawfulError
from lawful.explain.teachers.c.c_program import read_program
from lawful.explain.teachers.c.instrument import Instrumented, instrument
from lawful.explain.teachers.c.preprocessing import HEADERS

Write = Callable[[str], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(text: str) -> Path:
        path = tmp_path / "program.c"
        path.write_text(text)
        return path

    return written


def refused(slug: str, path: Path, function: str | None = None, **options: object) -> LawfulError:
    with pytest.raises(LawfulError) as caught:
        instrument(path, function, **options)  # type: ignore[arg-type]
    assert caught.value.slug == slug
    return caught.value


def labels(program: Instrumented) -> tuple[str, ...]:
    return program.alphabet.labels


CHAIN = """
#include <assert.h>
extern int __VERIFIER_nondet_int(void);
void tick(int);
static void far(void) { tick(1); }
static void middle(void) { far(); }
static int near(int n) {
    if (n > 2)
        middle();
    for (int i = 0; i < n; i++) tick(i);
    switch (n) { case 1: return 0; default: break; }
    assert(n != 4);
    return n ? 1 : 2;
}
static void unused(void) { far(); }
int main(void) { return near(__VERIFIER_nondet_int()); }
"""


def test_functions_are_events_in_the_order_of_the_source(write: Write) -> None:
    program = instrument(write(CHAIN))
    assert labels(program) == ("far", "tick", "middle", "near", "assert")
    assert [event.line for event in program.alphabet.events] == [5, 5, 6, 7, 12]
    assert program.alphabet.events[-1].file == str(program.source.path)


def test_the_nearest_to_the_error_are_chosen(write: Write) -> None:
    assert labels(instrument(write(CHAIN), most=1)) == ("near", "assert")
    assert labels(instrument(write(CHAIN), most=2)) == ("tick", "near", "assert")
    assert labels(instrument(write(CHAIN), most=3)) == ("tick", "middle", "near", "assert")


def test_events_by_pattern(write: Write) -> None:
    assert labels(instrument(write(CHAIN), patterns=["mid*", "n?ar"])) == ("middle", "near", "assert")
    assert labels(instrument(write(CHAIN), patterns=["main"])) == ("main", "assert")
    error = refused("c-no-events", write(CHAIN), patterns=["near", "nothing_like_it"])
    assert "nothing_like_it" in error.message and "middle" in str(error.hint)


def test_branches_are_events(write: Write) -> None:
    program = instrument(write(CHAIN), kinds=["branches"])
    assert labels(program) == ("n > 2", "not n > 2", "for i < n", "case 1", "default", "n", "not n", "assert")
    assert [event.line for event in program.alphabet.events] == [8, 8, 10, 11, 11, 13, 13, 12]


def test_calls_are_events_where_they_stand(write: Write) -> None:
    program = instrument(write(CHAIN), kinds=["calls"], patterns=["tick"])
    assert labels(program) == ("tick", "assert")
    assert program.text.count("__lawful_learn(0)") == 2


def test_a_function_alone_shows_its_branches(write: Write) -> None:
    program = instrument(write("void f(int n) { if (n) n++; assert(n); }"), "f")
    assert labels(program) == ("n", "not n", "assert")


def test_a_function_without_anything_is_an_event_itself(write: Write) -> None:
    path = write("void f(int n) { assert(n); }")
    assert labels(instrument(path, "f")) == ("f", "assert")
    assert "nothing" in str(refused("c-no-events", path, "f", kinds=["branches"]).hint)


def test_equal_branches_are_told_apart(write: Write) -> None:
    program = instrument(write("void f(int n) {\nif (n) n++;\nif (n) n--; if (n) n--;\nassert(n); }"), "f")
    names = labels(program)
    assert names[:2] == ("n (line 2)", "not n (line 2)")
    assert len(set(names)) == len(names) == 7


def test_the_users_own_events_come_first(write: Write) -> None:
    text = """
    enum { LATE = 7 };
    static void f(void) { Learn(2); }
    int main(void) { Learn("open"); f(); Learn(LATE); Learn(2); assert(0); }
    """
    program = instrument(write(text))
    assert labels(program) == ("2", "open", "LATE", "assert")
    # Other events do without what only the user's events name.
    assert "Learn(" not in instrument(write(text.replace('"open"', "undeclared")), kinds=["entries"]).text


def test_functions_of_included_files_are_only_events_by_name(tmp_path: Path) -> None:
    (tmp_path / "own.h").write_text("static void helper(void) { }\n")
    path = tmp_path / "program.c"
    path.write_text('#include "own.h"\nstatic void f(void) { helper(); }\nint main(void) { f(); assert(0); }\n')
    assert labels(instrument(path)) == ("f", "assert")
    assert labels(instrument(path, patterns=["helper"])) == ("helper", "assert")


def test_the_end_in_place_of_an_error(write: Write) -> None:
    program = instrument(write("static void f(void) { assert(1); } int main(void) { f(); return 0; }"), error="end")
    assert labels(program) == ("f", "end")
    assert program.at_end


def test_an_event_may_be_called_like_the_error(write: Write) -> None:
    assert labels(instrument(write('int main(void) { Learn("assert"); assert(0); }'))) == ("assert", "assert!")


def test_an_assertion_by_its_line(write: Write) -> None:
    path = write("int main(void) {\nLearn(1);\nassert(1);\nassert(0); }")
    error = refused("c-several-assertions", path)
    assert ":3" in error.message and ":4" in error.message and "--error" in str(error.hint)
    for chosen in ("4", 4, "program.c:4", f"{path}:4"):
        program = instrument(path, error=chosen)
        assert program.alphabet.events[-1].line == 4
        assert "__lawful_check(0)" in program.text and "__lawful_other(1)" in program.text
    assert "3" in str(refused("c-no-assertion", path, error="5").hint)
    assert refused("c-no-assertion", path, error="other.c:4")
    assert refused("c-no-assertion", path, error="ValueError")


def test_nothing_to_fail(write: Write) -> None:
    error = refused("c-no-assertion", write("int main(void) { Learn(1); return 0; }"))
    assert "--error end" in str(error.hint)
    # One that cannot be reached does not count.
    refused("c-no-assertion", write("void f(void) { assert(0); } int main(void) { Learn(1); return 0; }"))


def test_a_function_that_is_not_there(write: Write) -> None:
    path = write("void f(void) { assert(0); } void g(void) { }")
    assert "f, g" in str(refused("c-no-function", path, "h").hint)
    assert ":f" in str(refused("c-no-function", path).hint)
    path = write("int sensor(void); void insert(void) { assert(0); }")
    assert refused("c-no-function", path, "insrt").hint == "did you mean insert?"
    assert refused("c-no-function", path, "sensor").hint == "sensor is declared there, without a body"
    assert refused("c-no-function", write("")).hint == "it has no function with a body"


def test_an_unknown_kind_of_event(write: Write) -> None:
    assert "branches" in str(refused("c-event-kind", write("int main(void) { assert(0); }"), kinds=["lines"]).hint)


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("int main(void) {\n  return 3 +;\n}", 2, "expected expression"),
        ("#include <assert.h>\n\nint main(void) {\n  int x = 1\n  assert(x);\n}", 5, "expected"),
        ("int main(void) {", 1, "expected"),
        ("#error no\n", 1, "no"),
    ],
)
def test_text_that_is_no_c(write: Write, text: str, line: int, what: str) -> None:
    error = refused("c-not-parsed", write(text))
    assert str(error.where).endswith(f"program.c:{line}")
    assert what in error.message


def test_errors_are_understood_in_any_language(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.setenv("LANGUAGE", "de")
    assert "expected expression" in refused("c-not-parsed", write("int x = 3 +;")).message


def test_an_extension_that_is_not_known(write: Write) -> None:
    error = refused("c-not-parsed", write("int main(void) {\n  typeof(1) x = 2;\n  assert(x);\n}"))
    assert str(error.where).endswith("program.c:2")
    assert "extensions" in str(error.hint)


def test_a_header_that_is_not_there(write: Write) -> None:
    error = refused("c-not-read", write('int x;\n#include "nowhere.h"\n'))
    assert str(error.where).endswith("program.c:2") and "nowhere.h" in error.message
    assert "--include" in str(error.hint)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    refused("c-not-read", tmp_path / "nothing.c")


@pytest.mark.parametrize("header", sorted(path.name for path in HEADERS.glob("*.h")))
def test_headers_can_be_read_alone_and_twice(header: str, write: Write) -> None:
    path = write(f"#include <{header}>\n#include <{header}>\nint main(void) {{ return 0; }}")
    program = read_program(path)
    assert [name for name, one in program.functions.items() if program.own(one)] == ["main"]


def test_headers_of_the_system_are_read_where_there_are_none_of_ours(write: Write) -> None:
    program = read_program(write("#include <search.h>\n#include <fcntl.h>\nint main(void) { return 0; }"))
    assert "hsearch" in program.declared and "hsearch" in program.foreign
    assert program.own(program.functions["main"])


def test_what_has_no_body_is_said(write: Write) -> None:
    program = instrument(
        write(
            "int sensor(int); void log_it(int);\nint main(void) { log_it(sensor(1)); other(2); Learn(1); assert(0); }"
        )
    )
    assert sorted(program.warnings) == [
        "log_it() has no body: Lawful assumes that it does nothing",
        "other() is not declared: Lawful assumes that it returns any int",
        "sensor() has no body: Lawful assumes that it returns any value",
    ]


def test_parameters_and_choices_are_inputs(write: Write) -> None:
    body = "if (nondet_char() > a) Learn(1);\nassert(*p);"
    path = write(f"typedef unsigned short word;\nvoid f(word a, int *p, _Bool b) {{\n{body} }}")
    program = instrument(path, "f")
    assert [(one.label, one.type.width) for one in program.inputs] == [
        ("nondet_char() at line 3", 8),
        ("a", 16),
        ("", 8),  # whether p points to something
        ("", 32),  # and to what
        ("b", 8),
    ]
    assert [(number, whole.label) for number, whole in program.wholes.items()] == [(2, "p")]
    assert any("parameter p of f()" in warning for warning in program.warnings)

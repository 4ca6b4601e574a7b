"""Both C teachers on programs as people write them: libraries, pointers, inputs, exits, and the language they learn."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from explain.teachers.c.requirements import needs_cbmc
from lawful.errors import LawfulError
from lawful.explain.automata import Automaton, words
from lawful.explain.bounds import OutOfTime
from lawful.explain.lstar import TableLearner
from lawful.explain.settings import TeacherName
from lawful.explain.teacher import Basis, Bounds, Limits, MembershipAnswer, Teacher
from lawful.explain.teachers.c import c_teacher

pytestmark = needs_cbmc
Write = Callable[[str], Path]
both = pytest.mark.parametrize("way", ["one-run", "asking"])


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(text: str) -> Path:
        path = tmp_path / "program.c"
        path.write_text(text)
        return path

    return written


def failing(teacher: Teacher, unwind: int, length: int) -> set[str]:
    """The failing words of what L* learns, without their last letter."""
    teacher.bound(Bounds(unwind, length))
    found = words(TableLearner().learn(teacher), length)
    return {" ".join(teacher.alphabet.spelled(word)[:-1]) for word in found}


@both
def test_figure_2(way: TeacherName, write: Write) -> None:
    """The paper's first program: the hundredth g would fail, but within small bounds g changes nothing."""
    path = write(
        """
        #include <assert.h>
        extern int __VERIFIER_nondet_int(void);
        static int x;
        static void g(void) { x++; }
        static void f(void) { assert(x >= 100); }
        int main(void) { while (__VERIFIER_nondet_int()) g(); f(); return 0; }
        """
    )
    teacher = c_teacher(path, way=way)
    assert teacher.alphabet.labels == ("g", "f", "assert")
    assert teacher.shortest() == 2
    assert failing(teacher, 4, 4) == {"f", "g f", "g g f"}
    assert teacher.report.basis is Basis.COMPLETE and not teacher.report.reached


@both
def test_a_program_with_libraries_and_pointers(way: TeacherName, write: Write) -> None:
    path = write(
        """
        #include <assert.h>
        #include <stdbool.h>
        #include <stdint.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        #include <limits.h>

        typedef struct item { char name[4]; uint8_t count; struct item *next; } item;
        typedef int (*action)(item *);
        extern _Bool __VERIFIER_nondet_bool(void);

        static int grow(item *one) { return ++one->count; }
        static int drop(item *one) { one->count = 0; return INT_MIN < 0 ? 0 : 1; }
        static const action actions[] = { grow, drop };

        static item *make(const char *name)
        {
            item *one = malloc(sizeof(item));
            if (one == NULL) { fprintf(stderr, "no memory\\n"); exit(EXIT_FAILURE); }
            memset(one, 0, sizeof *one);
            one->name[0] = name[0];
            one->next = NULL;
            return one;
        }

        int main(int argc, char **argv)
        {
            item *one = make("ab");
            int sum = 0;
            if (__VERIFIER_nondet_bool()) {
                sum += actions[0](one);
            } else {
                sum += actions[1](one);
            }
            if (one->name[0] != 'a') goto failed;
            printf("%d\\n", sum);
            free(one);
            assert(sum == 0);
            return 0;
        failed:
            Learn(1);
            abort();
        }
        """
    )
    teacher = c_teacher(path, way=way, kinds=["entries"])
    assert failing(teacher, 2, 5) == {"make grow"}
    # Functions that are called through pointers are not ruled out by the program's text.
    assert teacher.shortest() <= 3


@both
def test_inputs_that_lead_there(way: TeacherName, write: Write) -> None:
    """The parameters of a function, of several types, checked by hand."""
    path = write(
        """
        typedef short number;
        int f(number a, unsigned char b, _Bool c)
        {
            if (a < -5) Learn("low"); else Learn("high");
            if (b > 250 && c) Learn("both");
            assert(a + b != 249);
            return 0;
        }
        """
    )
    teacher = c_teacher(path, "f", way=way)
    assert failing(teacher, 1, 4) == {"low both", "low", "high both", "high"}
    values = []
    for labels in (("low", "both"), ("low",), ("high", "both"), ("high",)):
        execution = teacher.example(teacher.alphabet.word(*labels, "assert"))
        assert execution is not None and execution.failed and execution.example is not None
        values.append({name: int(value) for name, value in re.findall(r"(\w) = (-?\d+)", execution.example)})
    for given, low, in_both in zip(values, (True, True, False, False), (True, False) * 2, strict=True):
        assert given["a"] + given["b"] == 249
        assert (given["a"] < -5) is low
        assert (given["b"] > 250 and given["c"] == 1) is in_both
    passing = teacher.example(teacher.alphabet.word("high", "both"))
    assert passing is not None and not passing.failed
    assert teacher.example(teacher.alphabet.word("both", "assert")) is None


@both
def test_inputs_come_in_the_order_in_which_they_are_taken(way: TeacherName, write: Write) -> None:
    """An explanation does not show the input of a branch that is not taken."""
    path = write(
        """
        extern int __VERIFIER_nondet_int(void);
        extern unsigned sensor(int which);
        int main(void)
        {
            int a = __VERIFIER_nondet_int();
            int b = a == 3 ? __VERIFIER_nondet_int() : (int)sensor(2);
            Learn(1);
            int c = __VERIFIER_nondet_int();
            assert(!(a == 3 && b == 4 && c == 5));
        }
        """
    )
    teacher = c_teacher(path, way=way)
    teacher.bound(Bounds(1, 3))
    execution = teacher.example(teacher.alphabet.word("1", "assert"))
    assert execution is not None
    assert execution.example == "nondet_int() at line 6 = 3, nondet_int() at line 7 = 4, nondet_int() at line 9 = 5"
    assert any("sensor() has no body" in warning for warning in teacher.report.warnings)


@both
def test_ways_to_end(way: TeacherName, write: Write) -> None:
    """The end of a program as its error: returns and exits are ends, a failed assertion and an abort are not."""
    path = write(
        """
        #include <stdlib.h>
        #include <assert.h>
        int main(void)
        {
            int how = nondet_int();
            if (how == 0) { Learn("exit"); exit(1); }
            if (how == 1) { Learn("abort"); abort(); }
            if (how == 2) { Learn("assert"); assert(how != 2); }
            if (how == 3) { Learn("cut"); __CPROVER_assume(0); }
            if (how == 4) { Learn("loop"); for (;;) ; }
            Learn("return");
            return 0;
        }
        """
    )
    assert failing(c_teacher(path, way=way, error="end"), 2, 3) == {"exit", "return"}
    assert failing(c_teacher(path, way=way), 2, 3) == {"assert"}


@both
def test_recursion_is_followed_as_far_as_the_bound(way: TeacherName, write: Write) -> None:
    path = write(
        """
        static void down(int n) { if (nondet_bool()) down(n + 1); }
        int main(void) { down(0); assert(0); }
        """
    )
    for unwind in (1, 3):
        found = failing(c_teacher(path, way=way), unwind, 8)
        assert found == {" ".join(["down"] * times) for times in range(1, unwind + 2)}


@both
def test_branches_and_calls(way: TeacherName, write: Write) -> None:
    path = write(
        """
        void tick(int);
        int f(int n)
        {
            int sum = n > 1 ? (tick(1), 2) : 0;
            do { tick(2); } while (sum-- > 1 && n > 5);
            switch (n) { case 7: tick(3); case 8: break; default: return 0; }
            assert(n != 7);
            return 0;
        }
        """
    )
    assert failing(c_teacher(path, "f", way=way, kinds=["branches"]), 3, 8) == {
        "n > 1 do while sum-- > 1 && n > 5 do while sum-- > 1 && n > 5 case 7 case 8"
    }
    assert failing(c_teacher(path, "f", way=way, kinds=["calls"]), 3, 8) == {"tick tick tick tick"}


@both
def test_a_conjecture_is_corrected_both_ways(way: TeacherName, write: Write) -> None:
    path = write(
        """
        int main(void) { if (nondet_bool()) Learn("a"); else Learn("b"); Learn("c"); assert(nondet_bool()); return 0; }
        """
    )
    teacher = c_teacher(path, way=way)
    teacher.bound(Bounds(1, 4))
    labels = teacher.alphabet.labels
    a, b, c, error = range(4)
    right = [(a, c, error), (b, c, error)]
    assert teacher.counterexample(Automaton.from_words(right, labels)) is None
    missed = teacher.counterexample(Automaton.from_words(right[1:], labels))
    assert missed == ((a, c, error), True)
    for wrong in [(a, b, error), (a, c), (a, c, error, error), (error,), (c, c, error)]:
        found = teacher.counterexample(Automaton.from_words([*right, wrong], labels))
        assert found == (wrong, False)
        assert teacher.member(wrong) is not MembershipAnswer.YES
    # What is longer than the bound is not looked at.
    assert teacher.counterexample(Automaton.from_words([*right, (a, c, c, c, error)], labels)) is None


def test_what_needs_no_model_checker_is_not_asked(write: Write) -> None:
    path = write('int main(void) { Learn("a"); if (nondet_bool()) Learn("b"); assert(0); }')
    teacher = c_teacher(path, way="asking")
    teacher.bound(Bounds(1, 4))
    a, b, error = range(3)
    for word in [(), (a,), (a, error, error), (b, error), (error,), (a, a, error), (b, a, error)]:
        assert teacher.member(word) is not MembershipAnswer.YES
    wrong = Automaton.from_words([(a, error), (b, a, error)], teacher.alphabet.labels)
    assert teacher.counterexample(wrong) == ((b, a, error), False)
    assert teacher.counts.solver_calls == 0
    assert teacher.member((a, b, error)) is MembershipAnswer.YES
    teacher.bound(Bounds(2, 7))
    assert teacher.member((a, b, error)) is MembershipAnswer.YES
    assert teacher.counts.solver_calls == teacher.counts.membership_worked == 1


def test_one_run_is_one_run(write: Write) -> None:
    path = write('int main(void) { while (nondet_bool()) Learn("a"); assert(0); }')
    teacher = c_teacher(path)
    for length in range(1, 8):
        assert failing(teacher, 3, length) == {" ".join("a" * times) for times in range(3) if times < length}
    assert teacher.counts.executions == 1


@both
def test_nothing_can_fail(way: TeacherName, write: Write) -> None:
    teacher = c_teacher(write('int main(void) { Learn("a"); assert(1); return 0; }'), way=way)
    assert failing(teacher, 2, 4) == set()


@both
def test_no_execution_ends(way: TeacherName, write: Write) -> None:
    teacher = c_teacher(write('int main(void) { Learn("a"); __CPROVER_assume(0); assert(0); return 0; }'), way=way)
    assert failing(teacher, 2, 4) == set()
    assert teacher.member((0, 1)) is MembershipAnswer.NO
    assert teacher.example((0,)) is None


def test_an_assertion_that_the_text_alone_rules_out(write: Write) -> None:
    with pytest.raises(LawfulError) as caught:
        c_teacher(write('int main(void) { Learn("a"); return 0; assert(0); }'))
    assert caught.value.slug == "c-error-unreachable"


@both
def test_out_of_time(way: TeacherName, write: Write) -> None:
    teacher = c_teacher(write('int main(void) { Learn("a"); assert(0); }'), way=way, limits=Limits(seconds=0))
    teacher.bound(Bounds(1, 3))
    with pytest.raises(OutOfTime):
        teacher.counterexample(Automaton.from_words([], teacher.alphabet.labels))
    assert teacher.report.reached == ["stopped after 0 seconds"]
    assert teacher.report.basis is Basis.SAMPLED


def test_c_that_the_model_checker_refuses(write: Write) -> None:
    teacher = c_teacher(write('int main(void) { Learn("a"); undeclared_variable = 1; assert(0); }'))
    teacher.bound(Bounds(1, 3))
    with pytest.raises(LawfulError) as caught:
        teacher.member((0, 1))
    assert caught.value.slug == "cbmc-failed"
    assert "in main(): " in caught.value.message and "undeclared_variable" in caught.value.message
    assert ".i" not in caught.value.message


@pytest.mark.parametrize("word", ["break", "continue"])
def test_a_jump_out_of_nowhere_is_left_to_the_model_checker(word: str, write: Write) -> None:
    teacher = c_teacher(write(f'int main(void) {{ Learn("a"); if (nondet_bool()) {word}; assert(0); }}'))
    teacher.bound(Bounds(1, 3))
    with pytest.raises(LawfulError, match=word):
        teacher.member((0, 1))


def test_too_deep_to_be_read(write: Write) -> None:
    path = write(f'int main(void) {{ int x = nondet_int(); Learn("a"); assert({" + ".join(["x"] * 3000)}); }}')
    with pytest.raises(LawfulError) as caught:
        c_teacher(path)
    assert caught.value.slug == "c-not-parsed" and "too deep" in caught.value.message


def test_an_unknown_way(write: Write) -> None:
    with pytest.raises(LawfulError, match="one-run and asking"):
        c_teacher(write("int main(void) { assert(0); }"), way="guessing")  # type: ignore[arg-type]


@both
def test_a_program_as_in_verification_competitions(way: TeacherName, write: Write) -> None:
    path = write(
        """
        extern void abort(void);
        extern void __assert_fail(const char *, const char *, unsigned int, const char *)
            __attribute__ ((__nothrow__ , __leaf__)) __attribute__ ((__noreturn__));
        void reach_error() { __assert_fail("0", "x.c", 3, "reach_error"); }
        void assume_abort_if_not(int cond) { if (!cond) { abort(); } }
        void __VERIFIER_assert(int cond) { if (!(cond)) { ERROR: { reach_error(); abort(); } } return; }
        extern unsigned int __VERIFIER_nondet_uint(void);
        #include <pthread.h>
        #include <stdarg.h>
        #include <stdbool.h>
        #include <time.h>
        enum e { X, Y };
        struct pair { int a : 3; union { int b; char c[4]; }; };
        static struct pair make(const struct pair p, int v[], enum e e) { struct pair q = p; q.b = v[e]; return q; }
        static int total(int n, ...)
        {
            va_list l;
            va_start(l, n);
            int s = 0;
            for (int i = 0; i < n; i++) s += va_arg(l, int);
            va_end(l);
            return s;
        }
        static bool odd(unsigned n) { static int calls; calls++; return n & 1; }
        int main()
        {
            unsigned n = __VERIFIER_nondet_uint();
            assume_abort_if_not(n < 4);
            int v[2] = { [1] = 2 };
            struct pair p = { .a = 1 };
            p = make(p, v, Y);
            if (odd(n)) p.b = total(2, 1, (int)n);
            __VERIFIER_assert(p.b != 4);
            return 0;
        }
        """
    )
    teacher = c_teacher(path, way=way)
    assert teacher.alphabet.labels == ("make", "total", "odd", "assert")
    assert teacher.alphabet.events[-1].line == 5
    assert failing(teacher, 4, 5) == {"make odd total"}
    execution = teacher.example(teacher.alphabet.word("make", "odd", "total", "assert"))
    assert execution is not None and execution.example == "nondet_uint() at line 28 = 3"


@both
def test_functions_that_are_given_to_others(way: TeacherName, write: Write) -> None:
    """Calls through pointers, from tables and as arguments, are seen by the control flow and by the model checker."""
    path = write(
        """
        static int total;
        static void add(void) { total++; }
        static void none(void) { }
        static void twice(void (*what)(void)) { what(); what(); }
        static void (*const table[2])(void) = { add, none };
        int main(void)
        {
            _Bool which = nondet_bool();
            twice(table[which]);
            twice(which ? none : add);
            assert(total != 4);
        }
        """
    )
    teacher = c_teacher(path, way=way)
    assert failing(teacher, 1, 7) == {"twice add add twice add add"}

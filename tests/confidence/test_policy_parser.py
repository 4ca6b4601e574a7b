"""The text form of policies: what is read is what is written, and errors name the place."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import check_docs
from confidence.random_policies import policies
from lawful.confidence import policy_parser
from lawful.confidence.policies import NAMES, named
from lawful.confidence.policy_automaton import Auto, Policy, PolicyState, Transition, Trigger
from lawful.confidence.policy_parser import parse, read
from lawful.diagnostics import LawSourceError
from lawful.errors import LawfulError

CAREFUL = """\
# Look closely, then from afar.
policy careful
start watch
state watch:  sample all            # every one
  after target go thin
state thin:   sample 1 in 64
  on violation go watch
  on new code go watch
  on rare code go steady
state steady: sample by overhead 2.5% at least 1 in 1_000 at most 2 in 3
  after 1000 clean samples go thin
  after 10 minutes go thin
  on overhead above 10% go sleep
  on overhead below 0.5% go watch
state sleep:
  sample none after 1.5 hours go watch
"""


def test_all_of_the_language() -> None:
    assert parse(CAREFUL) == Policy(
        "careful",
        (
            PolicyState("watch", Fraction(1)),
            PolicyState("thin", Fraction(1, 64)),
            PolicyState("steady", Auto(Fraction(1, 40), Fraction(1, 1000), Fraction(2, 3))),
            PolicyState("sleep", Fraction(0)),
        ),
        "watch",
        (
            Transition("watch", Trigger.TARGET, "thin"),
            Transition("thin", Trigger.VIOLATION, "watch"),
            Transition("thin", Trigger.NEW_CODE, "watch"),
            Transition("thin", Trigger.RARE_CODE, "steady"),
            Transition("steady", Trigger.TARGET, "thin", 1000),
            Transition("steady", Trigger.TIME, "thin", Fraction(600)),
            Transition("steady", Trigger.OVERHEAD_ABOVE, "sleep", Fraction(1, 10)),
            Transition("steady", Trigger.OVERHEAD_BELOW, "watch", Fraction(1, 200)),
            Transition("sleep", Trigger.TIME, "watch", Fraction(5400)),
        ),
    )


def test_how_it_is_printed() -> None:
    assert str(parse(CAREFUL)) == (
        "policy careful\nstart watch\n\n"
        "state watch: sample all\n  after target go thin\n\n"
        "state thin: sample 1 in 64\n  on violation go watch\n  on new code go watch\n  on rare code go steady\n\n"
        "state steady: sample by overhead 2.5% at least 1 in 1000 at most 2 in 3\n"
        "  after 1000 clean samples go thin\n  after 10 minutes go thin\n"
        "  on overhead above 10% go sleep\n  on overhead below 0.5% go watch\n\n"
        "state sleep: sample none\n  after 90 minutes go watch\n"
    )


@given(policies())
def test_what_is_printed_reads_the_same(policy: Policy) -> None:
    assert parse(str(policy)) == policy


@pytest.mark.parametrize("name", NAMES)
def test_the_policies_that_come_with_lawful_can_be_written(name: str) -> None:
    assert parse(str(named(name))) == named(name)


@given(policies(), st.sampled_from(["\r\n", "\r", " ", "\t\n", " # all is well\n"]))
def test_blanks_comments_and_line_ends_do_not_matter(policy: Policy, blank: str) -> None:
    assert parse(blank.join(["", *str(policy).split(), ""])) == policy


HEAD = "policy p\nstart a\n"

ERRORS = [
    # text, slug, the text under the carets, a word of the hint
    ("", "policy-syntax", "", "policy careful"),
    ("polcy p", "policy-syntax", "polcy", "`policy`"),
    ("policy", "policy-nameless", "", "careful"),
    ("policy 1", "policy-nameless", "1", "careful"),
    ("policy p", "policy-no-state", "p", "state watch"),
    ("policy p state a: sample all", "policy-no-start", "p", "`start a`"),
    ("policy p start b state a: sample all", "policy-unknown-state", "b", "`a`"),
    ("policy p start wach state watch: sample all", "policy-unknown-state", "wach", "did you mean `watch`"),
    (HEAD + "start a state a: sample all", "policy-two-starts", "a", ""),
    (HEAD + "state : sample all", "policy-nameless", ":", "watch"),
    (HEAD + "state", "policy-nameless", "", "watch"),
    (HEAD + "state a sample all", "policy-syntax", "sample", ""),
    (HEAD + "state a: all", "policy-syntax", "all", "sample 1 in 8"),
    (HEAD + "state a: sample", "policy-syntax", "", "by overhead"),
    (HEAD + "state a: sample 3 in 2", "policy-rate", "3 in 2", "1 in 8"),
    (HEAD + "state a: sample 1 in 0", "policy-rate", "0", "none"),
    (HEAD + f"state a: sample 1 in {2**63}", "policy-rate", f"1 in {2**63}", ""),
    (HEAD + "state a: sample 1 out 3", "policy-syntax", "out", "1 in 8"),
    (HEAD + "state a: sample 1.5 in 3", "policy-syntax", "1.5", ""),
    (HEAD + "state a: sample 1 in 3.5", "policy-syntax", "3.5", ""),
    (HEAD + "state a: sample by overhead 0%", "policy-overhead", "by overhead 0%", "5%"),
    (HEAD + "state a: sample by overhead 5", "policy-syntax", "", "percent"),
    (HEAD + "state a: sample by overhead 5% at least 0 in 5", "policy-rate", None, "1 in 1000"),
    (HEAD + "state a: sample by overhead 5% at least all at most 1 in 2", "policy-rate", None, "smaller"),
    (HEAD + "state a: sample by overhead 5% at most 3 in 2", "policy-rate", None, ""),
    (HEAD + "state a: sample all state a: sample none", "policy-duplicate-state", "a", "another name"),
    (HEAD + "state a: sample all state b: sample none", "policy-unreachable", "b", "`go b`"),
    (HEAD + "state a: sample all on violation go b", "policy-unknown-state", "b", "`a`"),
    (HEAD + "state a: sample all on violaton go a", "policy-syntax", "violaton", "`violation`"),
    (HEAD + "state a: sample all on violation a", "policy-syntax", "a", "go watch"),
    (HEAD + "state a: sample all on violation goa", "policy-syntax", "goa", ""),
    (HEAD + "state a: sample all on violation go", "policy-syntax", "", ""),
    (HEAD + "state a: sample all on new code go a on new code go a", "policy-ambiguous", "on new code", "one way"),
    (
        HEAD + "state a: sample all after target go a after 5 clean samples go a",
        "policy-ambiguous",
        "after 5 clean samples",
        "one way",
    ),
    (HEAD + "state a: sample all after 0 clean samples go a", "policy-amount", "after 0 clean samples", "target"),
    (HEAD + "state a: sample all after 1.5 clean samples go a", "policy-syntax", "clean", "1.5 minutes"),
    (HEAD + "state a: sample all after 0 minutes go a", "policy-amount", "after 0 minutes", "10 minutes"),
    (HEAD + "state a: sample all after 1/0 minutes go a", "policy-amount", "1/0", ""),
    (HEAD + f"state a: sample all after {'9' * 5000} minutes go a", "policy-amount", "9" * 5000, ""),
    (HEAD + f"state a: sample 1 in {'9' * 5000}", "policy-amount", "9" * 5000, ""),
    (HEAD + "state a: sample all after 3 minuts go a", "policy-syntax", "minuts", "`minutes`"),
    (HEAD + "state a: sample all on overhead above 0% go a", "policy-overhead", "on overhead above 0%", "5%"),
    (HEAD + "state a: sample all .", "policy-syntax", ".", ""),
    (HEAD + "state a: sample all \0", "policy-syntax", "\0", ""),
]


@pytest.mark.parametrize(("text", "slug", "marked", "hint"), ERRORS, ids=[f"{e[1]}-{i}" for i, e in enumerate(ERRORS)])
def test_an_error_names_its_place(text: str, slug: str, marked: str | None, hint: str) -> None:
    with pytest.raises(LawSourceError) as caught:
        parse(text, "my.policy")
    (only,) = caught.value.diagnostics
    begin, end = only.span
    assert only.slug == caught.value.slug == slug
    if marked is not None:
        assert text[begin:end] == marked
    assert hint in (only.hint or "")
    line, column = text.count("\n", 0, begin) + 1, begin - text.rfind("\n", 0, begin)
    assert caught.value.where == f"my.policy:{line}:{column}"
    assert f"--> my.policy:{line}:{column}" in str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_all_errors_are_told_in_their_order() -> None:
    text = HEAD + "state a: sample 2 in 1\n  on violation go b\n  on violation go a\nstate a: sample 1 in 0\n"
    with pytest.raises(LawSourceError) as caught:
        parse(text)
    assert [each.slug for each in caught.value.diagnostics] == [
        "policy-rate",
        "policy-unknown-state",
        "policy-ambiguous",
        "policy-duplicate-state",
        "policy-rate",
    ]
    assert str(caught.value).endswith("\n\n5 errors in <policy>")


def test_a_second_way_shows_the_first() -> None:
    with pytest.raises(LawSourceError) as caught:
        parse(HEAD + "state a: sample all\n  on violation go a\n  on violation go a\n")
    assert str(caught.value) == (
        "error[policy-ambiguous]: `a` has two ways to go `on violation`\n"
        "  --> <policy>:5:3\n"
        "   |\n"
        " 5 |   on violation go a\n"
        "   |   ^^^^^^^^^^^^\n"
        "note: the other one is here\n"
        "  --> <policy>:4:3\n"
        "   |\n"
        " 4 |   on violation go a\n"
        "   |   ^^^^^^^^^^^^\n"
        "   = hint: a state has one way to go for each thing that can happen; use another state\n"
        "\n"
        "1 error in <policy>"
    )


@given(st.lists(st.sampled_from([*CAREFUL.split(), "7", "%", "\n", "#", "0", "\ud800", "é", "::"]), max_size=30))
def test_whatever_is_written_is_a_policy_or_an_error_with_a_place(words: list[str]) -> None:
    text = " ".join(words)
    try:
        assert parse(str(parse(text))) == parse(text)
    except LawSourceError as error:
        assert error.where is not None
        assert error.slug.startswith("policy-")


@given(st.text())
def test_any_text_at_all(text: str) -> None:
    with pytest.raises(LawSourceError) as caught:
        parse("policy p start a " + text)
    assert caught.value.where is not None


def test_files(tmp_path: Path) -> None:
    file = tmp_path / "careful.policy"
    file.write_bytes(b"\xef\xbb\xbf" + CAREFUL.encode())
    assert read(file) == parse(CAREFUL)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "careful.policy").write_bytes(b"policy p\n\xff")
    for name, slug, hint in (
        ("carefull.policy", "policy-not-found", "careful.policy"),
        ("other/x.policy", "policy-not-found", None),
        ("\0.policy", "policy-not-found", None),
        (".", "policy-not-readable", None),
        ("careful.policy", "policy-not-text", None),
    ):
        with pytest.raises(LawfulError) as caught:
            read(f"{tmp_path}/{name}")
        assert caught.value.slug == slug
        assert hint is None or hint in (caught.value.hint or "")
    assert caught.value.where == f"{tmp_path}/careful.policy:2"


def test_who_has_no_policy_file_does_not_pay_for_the_parser() -> None:
    code = (
        "import sys; from lawful.confidence import policy_parser, policy_run, policies\n"
        "policy_run.PolicyRun(policies.named('taper(3)'), 5); str(policies.off())\n"
        "print('lark' in sys.modules)\n"
        "policy_parser.parse('policy p start a state a: sample all'); print('lark' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]


def test_every_word_of_the_grammar_is_a_terminal() -> None:
    known = {terminal.name for terminal in policy_parser._parser().terminals}
    assert {word.upper() for word in policy_parser._WORDS} | set(policy_parser._GROUPS) <= known


PAGE = check_docs.ROOT / "docs" / "policies.md"
BLOCKS = re.findall(r"^```policy\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("text", BLOCKS, ids=lambda text: text.split()[1])
def test_the_policies_of_the_page_can_be_read(text: str) -> None:
    policy = parse(text, "docs/policies.md")
    if policy.name in NAMES:
        assert policy == named(policy.name)
        assert str(policy) == text

"""Drawings in Graphviz' and Mermaid's languages: structure, and text that cannot break out of its label."""

from __future__ import annotations

import html
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lawful.reports import dot, mermaid
from lawful.reports.drawing import Cluster, Drawing, Edge, Node, listed, shortened

DRAWING = Drawing(
    'a "law"',
    (
        Node("x", "File<f>", start=True, detail='all of "it"'),
        Node("y", "b\ntrue", accepting=True, role="good"),
        Node("z", "violated", role="bad"),
    ),
    (
        Edge("x", "y", "close(f),\nother & not a"),
        Edge("y", "y"),
        Edge("x", "z", role="bad", label="any"),
        Edge("z", "x", dashed=True),
    ),
    (Cluster("one | more; #1", ("y",)),),
)


def test_dot() -> None:
    assert dot.render(DRAWING).splitlines() == [
        r'digraph "a \"law\"" {',
        "  rankdir=LR",
        '  node [shape=box, style="rounded,filled", fillcolor=white, fontname="Helvetica", fontsize=11]',
        '  edge [fontname="Helvetica", fontsize=10]',
        r'  s0 [label="File<f>", tooltip="all of \"it\""]',
        '  s0_start [shape=point, width=0.12, fillcolor=black, label=""]',
        "  s0_start -> s0",
        '  s2 [label="violated", fillcolor="#f6d5d5"]',
        "  subgraph cluster_0 {",
        '    label="one | more; #1"',
        '    style=rounded; color="#888888"; fontname="Helvetica"; fontsize=11',
        r'    s1 [label="b\ntrue", peripheries=2, fillcolor="#dcefdc"]',
        "  }",
        r'  s0 -> s1 [label="close(f),\nother &amp; not a"]',
        "  s1 -> s1",
        '  s0 -> s2 [label="any", color="#b3261e", fontcolor="#b3261e"]',
        "  s2 -> s0 [style=dashed]",
        "}",
    ]


def test_mermaid() -> None:
    assert mermaid.render(DRAWING).splitlines() == [
        "flowchart LR",
        '  %% a "law"',
        '  s0("File#60;f#62;")',
        '  s2("violated"):::bad',
        '  subgraph c0["one #124; more#59; #35;1"]',
        '    s1[["b<br/>true"]]:::good',
        "  end",
        "  s0start(( )) --> s0",
        '  s0 -->|"close(f),<br/>other #38; not a"| s1',
        "  s1 --> s1",
        '  s0 -->|"any"| s2',
        "  s2 -.-> s0",
        "  classDef good fill:#dcefdc,stroke:#2e7d32",
        "  classDef bad fill:#f6d5d5,stroke:#b3261e",
    ]


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        (r"a \/ b", r'"a \\/ b"'),
        (r"\N\l", r'"\\N\\l"'),
        ('say "x"', r'"say \"x\""'),
        ("&lt;", '"&amp;lt;"'),
        ("<b>x</b>", '"<b>x</b>"'),
        ("\0\x1b[31m", '"␀␛[31m"'),
        ("ends in \\", r'"ends in \\"'),
    ],
)
def test_dot_shows_text_as_it_is(text: str, quoted: str) -> None:
    assert dot.quote(text) == quoted


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ('"x"', '"#34;x#34;"'),
        ("#quot;", '"#35;quot#59;"'),
        ("a | b; <c>", '"a #124; b#59; #60;c#62;"'),
        ("`**x**`", '"#96;#42;#42;x#42;#42;#96;"'),
        ("1. x", '"1#46; x"'),
        ("%%{init: 1}%%", '"#37;#37;#123;init#58; 1#125;#37;#37;"'),
        ("end", '"end"'),
        ("été", '"été"'),
    ],
)
def test_mermaid_shows_text_as_it_is(text: str, quoted: str) -> None:
    assert mermaid.quote(text) == quoted


@given(st.text(st.characters(exclude_categories=["C", "Z"], include_characters=' "\\&;#|<>')))
def test_dot_text_can_be_read_back(text: str) -> None:
    quoted = dot.quote(text)
    assert re.fullmatch(r'"(?:[^"\\]|\\["\\])*"', quoted)
    assert html.unescape(re.sub(r"\\(.)", r"\1", quoted[1:-1])) == text


@given(st.text(st.characters(exclude_categories=["C", "Z"], include_characters=' "\\&;#|<>')))
def test_mermaid_text_can_be_read_back(text: str) -> None:
    quoted = mermaid.quote(text)
    assert re.fullmatch(r'"[\w ,()#;]*"', re.sub(r"[^\x00-\x7f]", "x", quoted))
    assert re.sub(r"#(\d+);", lambda match: chr(int(match[1])), quoted[1:-1]) == text


@given(st.text())
def test_no_text_adds_a_line(text: str) -> None:
    drawing = Drawing(text, (Node("x", text, detail=text),), (Edge("x", "x", text),), (Cluster(text, ("x",)),))
    for language, size in ((dot, 11), (mermaid, 6)):
        assert len(re.split(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]", language.render(drawing))) == size + 1


def test_labels_are_broken_between_labels() -> None:
    assert listed(["aaaa", "bbbb", "cccc"], 10) == "aaaa, bbbb,\ncccc"
    assert listed(["a" * 50]) == "a" * 50
    assert listed([]) == ""


def test_long_text_is_cut() -> None:
    assert shortened("a b c d", 3, 2) == "a b\nc d"
    assert shortened("a b c d e f", 3, 2) == "a b\nc …"
    assert shortened("x" * 100, 30, 1).endswith("…")

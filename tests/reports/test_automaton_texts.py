"""Explanations in Graphviz' and Mermaid's languages: marks, and labels that cannot break out."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace

import pytest

from lawful.explain.explanation import Explanation
from lawful.reports import dot, mermaid
from lawful.reports.automaton_drawing import drawing
from reports.explanation_samples import bubble_sort, comparison, hostile, of_words


def small() -> Explanation:
    return of_words(["a x", "b x", "x"], ("a", "b", "x"))


def test_dot() -> None:
    assert dot.render(drawing(small())).splitlines() == [
        'digraph "all ways to AssertionError in program.py:sort" {',
        "  rankdir=LR",
        '  node [shape=box, style="rounded,filled", fillcolor=white, fontname="Helvetica", fontsize=11]',
        '  edge [fontname="Helvetica", fontsize=10]',
        '  s0 [label="0", shape=circle, tooltip="state 0, the words begin here"]',
        '  s0_start [shape=point, width=0.12, fillcolor=black, label=""]',
        "  s0_start -> s0",
        '  s1 [label="1", shape=circle, tooltip="state 1"]',
        '  s2 [label="2", shape=circle, tooltip="state 2"]',
        '  s3 [label="3 D", shape=circle, peripheries=2, fillcolor="#f6d5d5", tooltip="state 3, the words end here"]',
        r'  s0 -> s1 [label="a, b", tooltip="a (src/program.py:10); input: values=[0, 2, 3]\nb (src/program.py:13); '
        r'input: values=[1, 2, 3]", labeltooltip="a (src/program.py:10); input: values=[0, 2, 3]\n'
        'b (src/program.py:13); input: values=[1, 2, 3]"]',
        '  s0 -> s2 [label="x", penwidth=2.4, fontname="Helvetica-Bold", tooltip="x (src/program.py:16), in every word;'
        ' input: values=[2, 3]", labeltooltip="x (src/program.py:16), in every word; input: values=[2, 3]"]',
        '  s1 -> s2 [label="x", penwidth=2.4, fontname="Helvetica-Bold", tooltip="x (src/program.py:16), in every word;'
        ' input: values=[0, 2, 3]", labeltooltip="x (src/program.py:16), in every word; input: values=[0, 2, 3]"]',
        '  s2 -> s3 [label="AssertionError", penwidth=2.4, fontname="Helvetica-Bold", '
        'tooltip="AssertionError (src/program.py:99), in every word; input: values=[0, 2, 3]", '
        'labeltooltip="AssertionError (src/program.py:99), in every word; input: values=[0, 2, 3]"]',
        "}",
    ]


def test_mermaid() -> None:
    assert mermaid.render(drawing(small())).splitlines() == [
        "flowchart LR",
        "  %% all ways to AssertionError in program.py:sort",
        '  s0(("0"))',
        '  s1(("1"))',
        '  s2(("2"))',
        '  s3((("3 D"))):::bad',
        "  s0start(( )) --> s0",
        '  s0 -->|"a, b"| s1',
        '  s0 ==>|"x"| s2',
        '  s1 ==>|"x"| s2',
        '  s2 ==>|"AssertionError"| s3',
        "  classDef bad fill:#f6d5d5,stroke:#b3261e",
    ]


def test_a_doomed_state() -> None:
    explanation = small()
    doomed = replace(explanation, picture=replace(explanation.picture, doomed=(2, 3)), ends=True)
    nodes = {node.name: node for node in drawing(doomed).nodes}
    assert (nodes["2"].label, nodes["2"].role) == ("2 D", "lost")
    assert (nodes["3"].label, nodes["3"].role) == ("3 D", "plain")  # the end of a program is not bad
    assert drawing(doomed).title == "all ways through program.py:sort"


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
@pytest.mark.parametrize("explained", [bubble_sort(), hostile(), comparison()], ids=["bubble", "hostile", "comparison"])
def test_graphviz_can_read_it(explained: Explanation) -> None:
    source = dot.render(drawing(explained))
    done = subprocess.run(["dot", "-Tplain"], input=source.encode(), capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr.decode()
    drawn = drawing(explained)
    lines = done.stdout.decode().splitlines()
    starts = sum(node.start for node in drawn.nodes)
    assert sum(line.startswith("node ") for line in lines) == len(drawn.nodes) + starts
    assert sum(line.startswith("edge ") for line in lines) == len(drawn.edges) + starts


def test_hostile_labels_stay_in_their_quotes() -> None:
    for line in mermaid.render(drawing(hostile())).splitlines()[2:]:
        bare = re.sub(r'"[^"<>]*(?:<br/>[^"<>]*)*"', "", line)
        assert re.fullmatch(r"  (?:s\d+(?:start)?[()= >|-]*(?:s\d+)?(?::::bad)?|classDef .*)[()|\s\w:]*", bare), line


def test_the_sides_of_a_comparison_are_in_frames() -> None:
    drawn = drawing(comparison())
    assert [cluster.label for cluster in drawn.clusters] == ["only in old", "only in new: nothing"]
    assert [name for cluster in drawn.clusters for name in cluster.nodes] == [node.name for node in drawn.nodes]
    assert 'subgraph c1["only in new#58; nothing"]' in mermaid.render(drawing(comparison()))

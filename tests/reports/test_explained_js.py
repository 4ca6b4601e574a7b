"""The scripts of the page, run by Node: they place, draw and project as the Python side does."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from random import Random
from typing import Any

import pytest

from lawful.explain.automata import project
from lawful.explain.comparison import Comparison
from lawful.explain.explanation import Explanation
from lawful.explain.postprocess import picture
from lawful.explain.teacher import Alphabet, LabelledEvent
from lawful.reports import automaton_svg, explained_html
from lawful.reports.automaton_drawing import drawings
from lawful.reports.automaton_layers import Link, StateShape
from lawful.reports.automaton_layout import layered
from lawful.reports.page import static
from reports.explanation_samples import bubble_sort, failing, hostile, of_words, outcomes, random_explanation

pytestmark = pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")

_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def run(tmp_path: Path, code: str, given: Any) -> Any:
    """What a piece of JavaScript makes of `given`, after the page's scripts (without the one that needs a page)."""
    scripts = [static(name) for name in explained_html.SCRIPTS if name != "explained.js"]
    program = tmp_path / "program.js"
    data = tmp_path / "given.json"
    data.write_text(json.dumps(given), encoding="utf-8")
    read = 'const given = JSON.parse(require("fs").readFileSync(process.argv[2], "utf8"));'
    program.write_text("\n".join([*scripts, read, f"console.log(JSON.stringify((() => {{ {code} }})()))"]), "utf-8")
    done = subprocess.run(["node", program, data], capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


def test_the_layout_is_the_same(tmp_path: Path) -> None:
    given, expected = [], []
    for seed in range(24):
        rng = Random(seed)
        count, down = 60 if seed == 0 else rng.randint(1, 25), seed % 2 == 1
        ends = [(rng.randrange(state), state) for state in range(1, count)]
        ends += [(rng.randrange(count), rng.randrange(count)) for _ in range(count)]
        links = [Link(*each, rng.uniform(5, 150), 15.0 * rng.randint(1, 3)) for each in ends]
        plain = [
            {"source": each.source, "target": each.target, "width": each.width, "height": each.height} for each in links
        ]
        given.append({"count": count, "links": plain, "down": down})
        layout = layered([StateShape(32, 32)] * count, links, down=down)
        expected.append(
            [layout.width, layout.height]
            + [number for point in (*layout.centres, *layout.start) for number in point]
            + [number for route in layout.routes for point in (*route.points, route.label) for number in point]
        )
    code = """return given.map(({ count, links, down }) => {
        const found = lawfulLayout.layered(count, links, 16, 0, down);
        return [found.width, found.height, ...found.centres.flat(), ...found.start.flat(),
            ...found.routes.flatMap(({ points, label }) => [...points.flat(), ...label])];
    });"""
    for found, wanted in zip(run(tmp_path, code, given), expected, strict=True):
        assert found == pytest.approx(wanted, abs=1e-6)


_TEXT = """
const codes = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const escaped = (value) => String(value).replace(/[&<>"]/g, (char) => codes[char]);
const text = (tree) => {
    if (typeof tree === "string") return escaped(tree);
    const attributes = Object.entries(tree.attributes).map(([key, value]) => ` ${key}="${escaped(value)}"`).join("");
    const inner = tree.children.map(text).join("");
    return `<${tree.name}${attributes}${inner ? `>${inner}</${tree.name}>` : "/>"}`;
};
"""


@pytest.mark.parametrize(
    "explanation",
    [
        bubble_sort(),
        hostile(),
        random_explanation(7, 30, 4),
        of_words(["a b", "a a", "b b", "c", "d"], tuple("abcd")),
        failing(),
        outcomes(),
    ],
    ids=["bubble", "hostile", "random", "parallel", "failing", "outcomes"],
)
def test_the_picture_is_the_same(tmp_path: Path, explanation: Explanation | Comparison) -> None:
    drawn, *_ = drawings(explanation)
    wanted = automaton_svg.inline(drawn).replace("\n", "").replace("\r", "")
    code = (
        _TEXT
        + """
    const whole = given.panels[0].pictures[given.panels[0].snapshots[given.panels[0].chosen].picture];
    const edges = whole.edges.map((edge, number) => ({ ...edge, from: [number] }));
    const groups = lawfulDrawing.grouped(edges, new Set(whole.dominating), new Set(given.failing));
    const picture = { ...whole, edges };
    const more = { title: given.panels[0].title, role: given.panels[0].role, note: whole.doomed_note };
    return text(lawfulDrawing.svg(picture, groups, { ...given, ...more }, (edge) => edge.detail));
    """
    )
    found = run(tmp_path, code, page_data(explanation)).replace("\n", "")
    assert _NUMBER.sub("#", found) == _NUMBER.sub("#", wanted)
    # Python and JavaScript round a half differently.
    numbers = [[float(each) for each in _NUMBER.findall(text)] for text in (found, wanted)]
    assert numbers[0] == pytest.approx(numbers[1], abs=0.101)


def page_data(explanation: Explanation | Comparison) -> Any:
    page = explained_html.render(explanation)
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def test_events_are_taken_out_as_by_the_automata(tmp_path: Path) -> None:
    given, expected = [], []
    for seed in range(30):
        rng = Random(seed)
        explanation = random_explanation(seed, rng.randint(3, 14), 4, density=0.5)
        hidden = rng.sample(range(4), rng.randint(0, 3))
        data = page_data(explanation)["panels"][0]["pictures"][0]
        given.append({"picture": data, "hidden": hidden})
        labels = explanation.alphabet.labels
        projected = project(explanation.automaton, [labels[letter] for letter in hidden])
        drawn = picture(projected, Alphabet(tuple(map(LabelledEvent, projected.labels))))
        edges = {(each.source, labels.index(projected.labels[each.letter]), each.target) for each in drawn.edges}
        expected.append((drawn.states, list(drawn.accepting), edges))
    code = """return given.map(({ picture, hidden }) => lawfulProjection.project(picture, new Set(hidden)));"""
    for found, (states, accepting, edges), task in zip(run(tmp_path, code, given), expected, given, strict=True):
        assert found["states"] == states
        assert found["accepting"] == accepting
        assert {(each["source"], each["letter"], each["target"]) for each in found["edges"]} == edges
        for each in found["edges"]:
            assert each["from"]
            assert all(task["picture"]["edges"][number]["letter"] == each["letter"] for number in each["from"])


def test_a_set_of_states_is_doomed_if_all_of_them_are(tmp_path: Path) -> None:
    edges = [(0, 0, 1), (0, 1, 2), (1, 2, 3), (2, 2, 4), (3, 3, 5), (4, 3, 5)]
    plain = [{"source": source, "letter": letter, "target": target} for source, letter, target in edges]
    code = "return given.map((each) => lawfulProjection.project(each, new Set([0, 1])).doomed);"
    one = {"states": 6, "accepting": [5], "doomed": [3, 4, 5], "edges": plain}
    assert run(tmp_path, code, [one, {**one, "doomed": [3, 5]}]) == [[1, 2], [2]]


def test_too_many_states_are_not_drawn(tmp_path: Path) -> None:
    """Words in which a certain letter is the 14th from the end: what was read last decides, and is a state each."""
    size = 14
    edges = [
        (0, 0, 0),
        (0, 1, 0),
        (0, 2, 1),
        (1, 0, 2),
        *((at, each, at + 1) for at in range(2, size) for each in (0, 1)),
    ]
    plain = [{"source": source, "letter": letter, "target": target} for source, letter, target in edges]
    given = {"states": size + 1, "accepting": [size], "doomed": [], "edges": plain}
    assert run(tmp_path, "return lawfulProjection.project(given, new Set([2]));", given) is None


def test_no_markup_is_made_of_texts() -> None:
    """Texts reach the page as texts only: none of the ways to read one as markup or as code is used."""
    for name in explained_html.SCRIPTS:
        for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval", "Function(", "</script"):
            assert way not in static(name)

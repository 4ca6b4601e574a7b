"""Pictures as SVG: well-formed whatever labels say, complete, and laid out for reading."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lawful.explain.automata import Automaton
from lawful.explain.explanation import Explanation, Picture, PictureEdge
from lawful.explain.teacher import Alphabet, LabelledEvent
from lawful.reports import automaton_svg, notebook
from lawful.reports.automaton_drawing import drawings, picture_drawing
from lawful.reports.drawing import Cluster, Drawing, Edge, Node
from reports.explanation_samples import (
    HOSTILE,
    bubble_sort,
    comparison,
    failing,
    hostile,
    of_words,
    outcomes,
    random_explanation,
)

SVG = "{http://www.w3.org/2000/svg}"


def parts(text: str) -> tuple[list[ElementTree.Element], list[ElementTree.Element]]:
    """The elements of arrows and of states."""
    root = ElementTree.fromstring(text)
    assert root.tag == f"{SVG}svg"
    groups = list(root.iter(f"{SVG}g"))
    edges = [each for each in groups if "data-edge" in each.attrib]
    return edges, [each for each in groups if "data-state" in each.attrib]


def words(element: ElementTree.Element) -> str:
    """What is written on an element, its lines with blanks between."""
    return " ".join(each.text or "" for each in element.iter() if each.tag in (f"{SVG}text", f"{SVG}tspan")).strip()


@pytest.mark.parametrize("explanation", [bubble_sort(), hostile(), random_explanation(4, 40, 5)])
def test_every_state_and_every_event_is_drawn(explanation: Explanation) -> None:
    edges, states = parts(automaton_svg.render(explanation))
    picture = explanation.picture
    assert len(states) == picture.states
    assert len(edges) == len({(each.source, each.target, each.dominating) for each in picture.edges})
    for edge in edges:
        assert len([each for each in edge if each.get("class") == "line"]) == 1
    doubled = {int(each.attrib["data-state"]) for each in states if len(each.findall(f"{SVG}circle")) == 2}
    assert doubled == set(picture.accepting)
    assert {int(each.attrib["data-state"]) for each in states if words(each).endswith(" D")} == set(picture.doomed)


def test_bold_arrows_are_the_dominating_ones() -> None:
    edges, _ = parts(automaton_svg.render(of_words(["a x", "b x"], ("a", "b", "x"))))
    bold = {words(each) for each in edges if "bold" in each.attrib["class"].split()}
    assert bold == {"x", "AssertionError"}
    assert {words(each) for each in edges} == {"a, b", "x", "AssertionError"}


def test_bold_and_other_events_between_the_same_states_are_two_arrows() -> None:
    arrows = (
        PictureEdge(0, 0, 1, dominating=True),
        PictureEdge(0, 1, 1),
        PictureEdge(1, 0, 1, dominating=True),
        PictureEdge(1, 1, 1),
    )
    letters = Alphabet((LabelledEvent("a"), LabelledEvent("b"), LabelledEvent("error")))
    drawn = picture_drawing(Picture(2, (1,), arrows, dominating=(0,)), letters, "both")
    edges, _ = parts(automaton_svg.beside([drawn]))
    assert sorted((words(each), "bold" in each.attrib["class"]) for each in edges) == [
        ("a", True),
        ("a", True),
        ("b", False),
        ("b", False),
    ]


def test_hostile_labels_stay_labels() -> None:
    text = automaton_svg.render(hostile())
    root = ElementTree.fromstring(text)
    tags = {each.tag.removeprefix(SVG) for each in root.iter()}
    assert tags <= {"svg", "g", "path", "circle", "text", "tspan", "title", "desc", "style", "rect"}
    assert not [name for each in root.iter() for name in each.attrib if name.startswith("on") or "href" in name]
    written = " ".join(each.text or "" for each in root.iter())
    for label in HOSTILE[:2]:
        assert label in written


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(), min_size=1, max_size=4, unique=True), st.text())
def test_any_labels_can_be_drawn(labels: list[str], error: str) -> None:
    if error in labels:
        labels = [label for label in labels if label != error]
    letters = Alphabet((*map(LabelledEvent, labels), LabelledEvent(error)))
    arrows = [PictureEdge(0, letter, 1, example=error) for letter in range(len(letters))]
    drawn = picture_drawing(Picture(2, (1,), tuple(arrows), doomed=(1,)), letters, error)
    for text in (automaton_svg.beside([drawn]), automaton_svg.inline(drawn)):
        text.encode()
        edges, states = parts(text)
        assert (len(edges), len(states)) == (1, 2)


def test_long_names_are_cut_in_the_middle() -> None:
    name = "package.module.Class.method_of_a_long_name"
    edges, _ = parts(automaton_svg.render(of_words([name], (name,))))
    assert words(edges[0]) == "package.mo…method_of_a_long_name"


def test_many_events_on_one_arrow_are_counted() -> None:
    names = tuple(f"a_rather_long_event_name_{at:02}" for at in range(20))
    edges, _ = parts(automaton_svg.render(of_words(list(names), names)))
    assert words(edges[0]).endswith("… 20 events in all")


def test_nothing_is_a_picture_too() -> None:
    empty = Automaton(("error",), 0, ((0,),), frozenset())
    explanation = Explanation("f", Alphabet((LabelledEvent("error"),)), empty, Picture(1, (), ()), bubble_sort().bounds)
    edges, states = parts(automaton_svg.render(explanation))
    assert (len(edges), len(states)) == (0, 1)


def test_a_long_automaton_is_drawn_downwards() -> None:
    chain = of_words([" ".join(["event"] * 30)], ("event",))
    root = ElementTree.fromstring(automaton_svg.render(chain))
    assert float(root.attrib["width"]) < automaton_svg.WIDEST < float(root.attrib["height"])
    short = ElementTree.fromstring(automaton_svg.render(of_words(["event"], ("event",))))
    assert float(short.attrib["width"]) > float(short.attrib["height"])


def test_an_arrow_can_be_chosen_with_the_keyboard_in_a_page() -> None:
    [drawn] = drawings(bubble_sort())
    edges, _ = parts(automaton_svg.inline(drawn))
    for edge in edges:
        assert edge.attrib["tabindex"] == "0" and edge.attrib["role"] == "button"
        assert words(edge) in edge.attrib["aria-label"]


# -- other drawings ----------------------------------------------------------------------------------------------------


def test_boxes_dashes_and_roles() -> None:
    drawn = Drawing(
        "a law",
        (Node("x", "File<f>\nopen", start=True), Node("y", "done", accepting=True, role="good", detail="all")),
        (Edge("x", "y", "close", dashed=True), Edge("y", "y", role="bad"), Edge("y", "x", "")),
        (Cluster("one", ("y",)),),
    )
    text = automaton_svg.beside([drawn])
    edges, states = parts(text)
    assert [len(each.findall(f"{SVG}rect")) for each in states] == [1, 2]
    assert words(states[0]).split() == ["File<f>", "open"]
    assert 'stroke-dasharray="6 4"' in text
    assert edges[1].attrib["class"] == "edge bad"
    assert words(edges[1]) == ""


def test_sides_stand_beside_each_other() -> None:
    text = automaton_svg.render(comparison())
    edges, states = parts(text)
    assert len(edges) == sum(len(each.edges) for each in drawings(comparison()))
    headings = [each.text for each in ElementTree.fromstring(text).findall(f"{SVG}text")]
    assert headings == [
        "difference of program.py:sort: old and new",
        "only in old",
        "only in new: nothing",
        "bold: in every word",
    ]
    assert len(states) == sum(len(each.nodes) for each in drawings(comparison()))


def legend(text: str) -> list[str | None]:
    return [each.text for each in ElementTree.fromstring(text).findall(f"{SVG}text[@class='legend']")]


def test_the_legend_says_what_doomed_means_and_where_it_fails() -> None:
    text = automaton_svg.render(failing())
    assert legend(text) == [
        "bold: in every word; D: doomed, every execution that comes here fails",
        "fails with KeyError at src/program.py:13 (2 words)",
        "fails with <b>ValueError</b> at src/program.py:99 (1 word)",
    ]
    root = ElementTree.fromstring(text)
    description = root.findtext(f"{SVG}desc")
    assert description is not None and "every execution that comes here fails. fails with KeyError" in description
    lowest = max(float(each.attrib["y"]) for each in root.findall(f"{SVG}text"))
    assert lowest < float(root.attrib["height"])


def test_ends_that_are_errors_are_red() -> None:
    text = automaton_svg.render(outcomes())
    edges, states = parts(text)
    red = [words(edge) for edge in edges if "bad" in edge.attrib["class"].split()]
    assert [each.split()[-1] for each in red] == ["KeyError"] * 2
    assert not any("bad" in state.attrib["class"].split() for state in states), "some words end well there"
    assert legend(text) == ["bold: in every word; red: fails"]


def test_many_sides_are_in_rows() -> None:
    [drawn] = drawings(of_words(["a b c", "c b a"], ("a", "b", "c")))
    root = ElementTree.fromstring(automaton_svg.beside([drawn] * 6, "six"))
    assert float(root.attrib["width"]) <= 1.4 * automaton_svg.WIDEST
    assert len({each.attrib["transform"] for each in root.iter(f"{SVG}g") if "transform" in each.attrib}) == 6


def test_notebooks() -> None:
    assert parts(notebook.svg(bubble_sort()))[1]
    frame = ElementTree.fromstring(notebook.html(hostile()))
    assert frame.tag == "iframe" and frame.attrib["sandbox"] == "allow-scripts"
    assert frame.attrib["srcdoc"].startswith("<!doctype html>")


def test_notebooks_show_pages() -> None:
    class Formatter(dict[tuple[str, str], Callable[[object], str]]):
        def for_type_by_name(self, module: str, name: str, shows: Callable[[object], str]) -> None:
            self[module, name] = shows

    formatters = {"text/html": Formatter(), "image/svg+xml": Formatter()}
    notebook.load_ipython_extension(SimpleNamespace(display_formatter=SimpleNamespace(formatters=formatters)))
    for subject in (bubble_sort(), comparison()):
        kind = type(subject)
        assert formatters["text/html"][kind.__module__, kind.__name__](subject).startswith("<iframe ")
        assert formatters["image/svg+xml"][kind.__module__, kind.__name__](subject).startswith("<svg ")

"""Sequence diagrams, read back from the SVG and from Mermaid's language: whatever the names are, nothing is lost."""

from __future__ import annotations

import json
import random
import re
import xml.etree.ElementTree as ET
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import check_docs
from cli.gold_files import assert_gold
from lawful import grammar, load_law, rml
from lawful.engine import TraceRun, TraceSettings
from lawful.reports.sequence import Diagram, Message, Note, Participant, render_markdown, render_mermaid, render_svg
from lawful.reports.violated_view import violated_view
from reports.mermaid_reader import Read, read

SVG = "{http://www.w3.org/2000/svg}"
GOLD = Path(__file__).parent / "gold"
EXAMPLES = check_docs.ROOT / "examples" / "replication"

Event = dict[str, Any]


class Picture:
    """What a reader of the SVG sees."""

    def __init__(self, svg: str) -> None:
        svg.encode()
        self.root = ET.fromstring(svg)
        self.width, self.height = float(self.root.attrib["width"]), float(self.root.attrib["height"])
        self.texts = ["".join(each.itertext()) for each in self.root.iter(f"{SVG}text")]
        self.tooltips = [each.text or "" for each in self.root.iter(f"{SVG}title")]
        boxes = [each for each in self.root.iter(f"{SVG}rect") if each.attrib.get("rx") == "3"]
        self.boxes = [(float(each.attrib["x"]), float(each.attrib["width"])) for each in boxes]
        self.columns = [x + width / 2 for x, width in self.boxes]
        # Arrows are the paths with a line across: from where to where, and in which colour.
        self.arrows = []
        for each in self.root.iter(f"{SVG}path"):
            if match := re.fullmatch(r"M(\S+) (\S+?)(?:h30v16)?H(\S+)", each.attrib["d"]):
                ends = tuple(self._column(float(match[place])) for place in (1, 3))
                self.arrows.append((*ends, each.attrib["stroke"], "stroke-dasharray" in each.attrib))

    def _column(self, x: float) -> int:
        (place,) = [place for place, column in enumerate(self.columns) if abs(column - x) < 0.2]
        return place


def violation(law: str, trace: str, most: int = 20) -> Diagram:
    settings = TraceSettings(messages=most)
    return drawn(TraceRun([load_law(EXAMPLES / law, name=law)], str(EXAMPLES / trace), settings), most)


def drawn(run: TraceRun, most: int = 20) -> Diagram:
    run.run()
    run.name = Path(run.name).name
    found = violated_view(run.law_run, run.findings[0], most, run.name)
    assert found is not None
    return found


def broken(tmp_path: Path, view: str, events: list[Event], most: int = 20) -> Diagram:
    (tmp_path / "t.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    return drawn(TraceRun([grammar.compile(view)], str(tmp_path / "t.jsonl"), TraceSettings(messages=most)), most)


# -- gold files --------------------------------------------------------------------------------------------------------

CASES = {
    "sequence_worker": ("worker.view", "worker.rejected.3.jsonl"),
    "sequence_refused": ("worker.view", "worker.rejected.5.refused.jsonl"),
    "sequence_second_group": ("worker.view", "worker.rejected.6.second-group.jsonl"),
    "sequence_end": ("connection.view", "connection.rejected.end.jsonl"),
    "sequence_nested": ("transfer.view", "transfer.rejected.6.count.jsonl"),
}


@pytest.mark.parametrize("name", CASES)
def test_gold(name: str) -> None:
    # Where an assertion stands is said by the path of its file, which is another one on each machine.
    found = violation(*CASES[name])
    folder = f"{EXAMPLES}/"
    note = found.note
    assert note is not None
    facts = tuple((label, text.replace(folder, "")) for label, text in note.facts)
    found = Diagram(
        found.title, found.participants, found.messages, found.subtitle, found.before, Note(note.title, facts)
    )
    assert_gold(render_svg(found), GOLD / f"{name}.svg")
    assert_gold(render_mermaid(found), GOLD / f"{name}.mmd")


def test_the_picture_in_the_documentation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(check_docs.ROOT)
    law, trace = "examples/replication/schedule.view", "examples/replication/schedule.rejected.1.figure-9.jsonl"
    run = TraceRun([load_law(law)], trace, TraceSettings(messages=20))
    run.run()
    found = violated_view(run.law_run, run.findings[0], name=trace)
    assert found is not None
    assert_gold(render_svg(found), check_docs.ROOT / "docs" / "papers" / "saga-figure-9.svg")


# -- from a violation to a diagram -------------------------------------------------------------------------------------


def test_figure_9() -> None:
    found = violation("schedule.view", "schedule.rejected.1.figure-9.jsonl")
    assert [each.name for each in found.participants] == ["WorkerGroup 1", "SyncServer 3"]
    (message,) = found.messages
    assert (message.terminal, message.label, message.number) == ("lt", "requestListSchedules(Worker 9)", 1)
    assert message.sent and message.marked
    assert found.note is not None
    assert dict(found.note.facts) == {"grammar": "• S", "expected": "cm (receive Worker.command) in S ::= • cm T"}


def test_a_failed_assertion_with_its_values() -> None:
    found = violation("worker.view", "worker.rejected.3.jsonl")
    assert found.note is not None
    facts = dict(found.note.facts)
    assert facts["failed"] == "U.i == pr.id"
    assert facts["grammar"].startswith("U ::= pr V  (") and facts["grammar"].endswith("Worker.g:5:37)")
    assert facts["values"] == "U.w = 9, U.i = 42, pr.w = 9, pr.id = 41"
    assert [each.marked for each in found.messages] == [False, False, True]
    assert [(each.name, each.detail, each.ours, each.known) for each in found.participants] == [
        ("outside", "", False, False),
        ("WorkerGroup 1", "Worker 9", True, True),
        ("Coordinator 5", "", False, True),
        ("ClientJob 7", "", False, True),
    ]


def test_answers_go_back() -> None:
    found = violation("connection.view", "connection.rejected.end.jsonl")
    names = [each.name for each in found.participants]
    assert [(names[each.sender], names[each.receiver], each.reply) for each in found.messages] == [
        ("JobGroup 1", "SyncServer 3", False),
        ("SyncServer 3", "JobGroup 1", True),
        ("JobGroup 1", "Worker 9", False),
        ("JobGroup 1", "SyncServer 3", False),
    ]
    assert found.messages[1].label == "getConnection: Worker 9"
    assert not any(each.marked for each in found.messages)
    assert found.note is not None and found.note.title == "The group may not end here"


PINGS = """
view Pings specifies G {
    send A.ping(Int n) ping, receive B.pong(Int n) pong, receive B.hello() hello, send reply(B.hello) bye
}
S ::= epsilon | ping P (P.n = ping.n;) | pong S | hello S | bye S
P ::= epsilon | ping {assert ping.n == P.n + 1;} P (P.n = ping.n;) | pong P (P.n = P.n;) | hello P (P.n = P.n;)
    | bye P (P.n = P.n;)
"""


def ping(number: int, group: Any = 1, **more: Any) -> Event:
    return {"event": "send", "name": "A.ping", "group": "G", "groupId": group, "targetId": 5, "args": [number]} | more


def pong(number: int, target: int, **more: Any) -> Event:
    event = {"event": "receive", "name": "B.pong", "group": "G", "groupId": 1, "targetId": target, "args": [number]}
    return event | more


def test_the_last_messages_of_the_group_that_broke_the_law(tmp_path: Path) -> None:
    # The other group's id is a value that the law knows of here, too: 12 is an `n`, and an object.
    events = [ping(each // 2, 12 if each % 2 else 1) for each in range(50)]
    events.insert(10, {"event": "send", "name": "A.other", "group": "G", "groupId": 1})
    events += [ping(12), ping(25, 12)]
    found = broken(tmp_path, PINGS, events)
    assert found.title == "Pings is broken by G 1 at event 52"
    assert [each.label for each in found.messages] == [f"ping({number})" for number in [*range(5, 25), 12]]
    assert [each.number for each in found.messages][:3] == [12, 14, 16]
    assert found.before == "earlier messages are not shown"
    assert len(broken(tmp_path, PINGS, events, 25).messages) == 26
    assert broken(tmp_path, PINGS, events, 25).before == ""
    (alone,) = broken(tmp_path, PINGS, events, 0).messages
    assert alone.marked and alone.number == 52


@pytest.mark.parametrize("group", [None, 7, "seven", {"host": "a", "pid": 4}, [1, 2]])
def test_whatever_groups_are_known_by(tmp_path: Path, group: Any) -> None:
    events = [ping(0, group), ping(0, "other"), ping(1, group), ping(1, "other"), ping(5, group)]
    found = broken(tmp_path, PINGS, events)
    assert [each.number for each in found.messages] == [1, 3, 5]
    unfinished = "view V { send A.ping(Int n) a, send A.pong() b }\nS ::= a T\nT ::= a T | b"
    found = broken(tmp_path, unfinished, [ping(0, group), ping(1, group)])
    assert [each.number for each in found.messages] == [1, 2]
    assert found.note is not None and found.note.title == "The group may not end here"


def test_objects_of_a_group_stand_in_a_frame(tmp_path: Path) -> None:
    hello = {"event": "receive", "name": "B.hello", "group": "G", "groupId": 1, "targetId": 8, "callId": 3}
    bye = {"event": "send", "name": "B.hello", "group": "G", "groupId": 1, "reply": True, "callId": 3, "exception": "E"}
    events = [
        pong(1, 8, callerId=20, time=0.5),
        hello | {"callerId": 21},
        pong(2, 9),
        ping(0, time=1.25, args=[0], argIds=[None], kwargs={"to": None, "n": [1]}, kwargIds={"to": 8}),
        bye,
        ping(7, callerId=8),
    ]
    found = broken(tmp_path, PINGS, events)
    names = [each.name for each in found.participants]
    assert names == ["object 20", "outside", "B 8", "B 9", "others in it", "object 21", "A 5"]
    assert {each.name for each in found.participants if each.frame == "G 1"} == {"B 8", "B 9", "others in it"}
    ends = [(names[each.sender], names[each.receiver]) for each in found.messages]
    assert ends == [
        ("object 20", "B 8"),
        ("object 21", "B 8"),
        ("outside", "B 9"),
        ("others in it", "A 5"),
        ("B 8", "object 21"),
        ("B 8", "A 5"),
    ]
    assert [each.label for each in found.messages][3:5] == ["ping(0, to=B 8, n=[1])", "hello raised E"]
    assert [each.time for each in found.messages] == [0.5, None, None, 1.25, None, None]
    assert read(render_mermaid(found)).frames == [("G 1", [2, 3, 4])]
    assert "#4 · 1.250 s" in Picture(render_svg(found)).texts


def test_a_law_that_is_lost(tmp_path: Path) -> None:
    view = """
    view V { send A.m(Int n) a, send A.k() b }
    S ::= a T (T.n = a.n;)
    T ::= b {assert T.n > 0;} | a {assert T.n > 1;} T (T.n = a.n;)
    """
    law = grammar.compile(view)
    event = {"event": "send", "name": "A.m", "groupId": 1, "args": [0]}
    (tmp_path / "t.jsonl").write_text(json.dumps(event))
    run = TraceRun([law], str(tmp_path / "t.jsonl"), TraceSettings())
    found = drawn(run)
    (result,) = run.results
    assert (result.doomed_at, result.rejected_at) == (1, "end")
    assert found.title == "V is broken by the group 1 at event 1"
    assert found.note == Note("After event 1, no message could be accepted any more")
    # The same is known if the trace breaks off.
    (tmp_path / "t.jsonl").write_text(json.dumps(event) + '\n{"event":')
    run = TraceRun([law], str(tmp_path / "t.jsonl"), TraceSettings())
    found = drawn(run)
    assert run.error is not None
    assert found.title == "V is broken by the group 1 at event 1"
    assert [each.marked for each in found.messages] == [True]
    assert found.note == Note("After event 1, no message could be accepted any more")


def test_other_laws_have_no_diagram(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"e": "b"}\n')
    run = TraceRun([rml.compile("a matches {e:'a'};\nMain = a;")], str(tmp_path / "t.jsonl"), TraceSettings())
    run.run()
    assert violated_view(run.law_run, run.findings[0]) is None


# -- what is drawn -----------------------------------------------------------------------------------------------------

words = st.text(max_size=60) | st.sampled_from(
    [
        "</text><script>",
        "]]>",
        "-->",
        "a; b",
        "#35;",
        "%%{init: {}}%%",
        "end",
        "wrap:",
        "as",
        "style:#1;",
        "\x00\ud800",
    ]
)


@st.composite
def diagrams(draw: st.DrawFn) -> Diagram:
    inside, frame = draw(st.integers(0, 3)), draw(words)
    participants = [Participant(draw(words), draw(words), ours=True, frame=frame) for _ in range(inside)]
    participants += [Participant(draw(words), known=draw(st.booleans())) for _ in range(draw(st.integers(1, 5)))]
    place = st.integers(0, len(participants) - 1)
    messages = [
        Message(
            draw(place),
            draw(place),
            draw(words),
            draw(words),
            draw(st.booleans()),
            draw(st.booleans()),
            draw(st.none() | st.integers(1, 10**9)),
            draw(st.none() | st.floats(0, 1e6)),
            draw(st.booleans()),
        )
        for _ in range(draw(st.integers(0, 12)))
    ]
    note = draw(st.none() | st.builds(Note, words, st.lists(st.tuples(words, words), max_size=4).map(tuple)))
    return Diagram(draw(words), tuple(participants), tuple(messages), draw(words), draw(words), note)


@given(diagrams())
def test_any_names_are_drawn(diagram: Diagram) -> None:
    picture = Picture(render_svg(diagram))
    tags = {each.tag.removeprefix(SVG) for each in picture.root.iter()}
    assert tags <= {"svg", "title", "rect", "text", "tspan", "path", "g"}
    assert len(picture.columns) == len(diagram.participants)
    assert [(sender, receiver, red == "#b3261e", dashed) for sender, receiver, red, dashed in picture.arrows] == [
        (each.sender, each.receiver, each.marked, each.reply) for each in diagram.messages
    ]
    shown = read(render_mermaid(diagram))
    assert len(shown.participants) == len(diagram.participants)
    assert [(sender, arrow, receiver, red) for sender, arrow, receiver, _, red in shown.messages] == [
        (each.sender, arrow_of(each), each.receiver, each.marked) for each in diagram.messages
    ]
    assert len(shown.notes) == bool(diagram.before) + (diagram.note is not None)


def arrow_of(message: Message) -> str:
    return ("-" if message.reply else "") + ("-x" if message.marked else "->>")


@given(diagrams())
def test_a_page_has_one_fence(diagram: Diagram) -> None:
    page = render_markdown(diagram)
    head, fence, rest = page.partition("\n\n```mermaid\n")
    assert head.startswith("# ") and "\n" not in head and "<" not in head and "`" not in head
    assert fence and rest.endswith("\n```\n")
    assert rest.removesuffix("```\n") == render_mermaid(diagram)
    assert "`" not in rest.removesuffix("```\n")


PLAIN = 'abc XYZ é 7 a.b(c)=d/e_f-g, •!"#;:<>&%{}|\\`'


def test_texts_are_what_they_were() -> None:
    long = "x" * 300
    people = (Participant(PLAIN, "detail"), Participant(long))
    messages = (Message(0, 1, PLAIN, "t", number=4, time=2.0), Message(1, 0, long, reply=True, marked=True))
    diagram = Diagram("T", people, messages, "S", PLAIN, Note("title", (("label", PLAIN),)))
    shown = read(render_mermaid(diagram))
    assert shown == Read(
        "T",
        [f"{PLAIN}<br/>detail", "x" * 119 + "…"],
        [],
        [(0, "->>", 1, f"(4) t {PLAIN} (2.000 s)", False), (1, "--x", 0, "x" * 119 + "…", True)],
        [PLAIN, f"title<br/>label: {PLAIN}"],
    )
    picture = Picture(render_svg(diagram))
    assert {"T", "S", f"t {PLAIN}", "detail", "#4 · 2.000 s", "title", "label", PLAIN} <= set(picture.texts)
    assert {f"{PLAIN} · detail", f"sent: t {PLAIN}", long} <= set(picture.tooltips)
    assert all(len(text) < 100 for text in picture.texts)


@pytest.mark.parametrize("seed", range(10))
def test_nothing_stands_on_anything_else(seed: int) -> None:
    source = random.Random(seed)
    size = source.randint(2, 8)

    def name() -> str:
        return "".join(source.choice("abcW.i") for _ in range(source.choice([3, 10, 60])))

    people = tuple(Participant(name(), ours=place == 1) for place in range(size))
    pairs = [source.sample(range(size), 2) for _ in range(source.randint(5, 40))]
    messages = tuple(Message(a, b, name(), number=at) for at, (a, b) in enumerate(pairs, 1))
    picture = Picture(render_svg(Diagram("t", people, messages)))
    for (left, width), (right, _) in pairwise(picture.boxes):
        assert left + width < right
    assert picture.boxes[0][0] > 0 and sum(picture.boxes[-1]) < picture.width
    assert picture.width <= 2300
    heights = [float(each.attrib["y"]) for each in picture.root.iter(f"{SVG}text") if each.attrib["font-size"] == "12"]
    assert max(heights) < picture.height
    labels = heights[size:]
    assert all(below - above >= 30 for above, below in pairwise(labels))

"""The report as JUnit XML, which most CI systems show: a test case for each law that is kept, and for each finding."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import NamedTuple
from xml.etree import ElementTree

from lawful.engine.wording import count, describe, expected
from lawful.reports.core import Report
from lawful.reports.findings import LEARNED, Item, ranked
from lawful.reports.svg import readable


class _Case(NamedTuple):
    """A test case."""

    suite: str
    name: str
    place: str
    kind: str = ""  # failure, error or skipped; nothing if it passed
    message: str = ""
    text: str = ""
    file: str | None = None
    line: int | None = None


def render(report: Report) -> str:
    """The whole report, with a newline at its end: a suite for each law, and one for what went wrong in watching."""
    cases = sorted(_cases(report), key=lambda case: case.suite)
    time = {} if report.seconds is None else {"time": f"{report.seconds:.3f}"}
    root = _element("testsuites", {"name": "lawful", **_counts(cases), **time})
    for suite, group in itertools.groupby(cases, key=lambda case: case.suite):
        members = list(group)
        root.append(_element("testsuite", {"name": suite, **_counts(members)}))
        root[-1].extend(map(_case, members))
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _cases(report: Report) -> Iterator[_Case]:
    for item in ranked(report.items):
        yield _failed(item)
    hit = {(item.finding.law, item.trace) for item in report.items}
    for judged in report.laws:
        name, where = judged.law.name, judged.trace or report.command
        if judged.state == "undecided":
            yield _Case(name, name, where, "skipped", judged.message)
        elif (name, judged.trace) not in hit:
            yield _Case(name, name, where)  # kept; or broken as a baseline knows
    if report.learner is not None and not any(item.anomaly for item in report.items):
        yield _Case(LEARNED, LEARNED, report.command)
    for text in report.errors:
        yield _Case("lawful", "watching", report.command, "error", text, text)
    if not (report.laws or report.items or report.errors or report.learner):
        yield _Case("lawful", "nothing was judged", report.command, "skipped", report.summary)


def _failed(item: Item) -> _Case:
    finding = item.finding
    place = f"{finding.file}:{finding.line}" if finding.file else item.trace or ""
    name = f"{place}: {item.message}" if place else item.message
    where = item.trace or (finding.file or "").removesuffix(".py").replace("/", ".")
    text = "\n".join(_details(item))
    return _Case(item.finding.law, name, where, "failure", item.message, text, finding.file, finding.line)


def _details(item: Item) -> Iterator[str]:
    finding = item.finding
    if finding.count > 1:
        yield f"seen {count(finding.count, 'time')}"
    wanted = expected(finding.expectation)
    if wanted:
        yield f"expected {wanted}"
    if finding.expectation.note:
        yield f"found {finding.expectation.note}"
    for number, event in finding.history:
        where = f"{event['file']}:{event.get('line')}  " if isinstance(event.get("file"), str) else ""
        yield f"#{number} {where}{describe(event)}"
    if finding.anomaly is not None:
        yield f"rule {finding.anomaly.rule}"
        for label, scene in (*(("not here", each) for each in finding.anomaly.bad), ("as here", finding.anomaly.good)):
            for name, site in () if scene is None else scene.events:
                yield f"{label}: {site}  {name}"
    for context in finding.contexts:
        yield f"in {context}"
    yield f"fingerprint {item.mark.fingerprint}"


def _case(case: _Case) -> ElementTree.Element:
    attributes: dict[str, object] = {"name": case.name, "classname": case.place or case.suite}
    if case.file is not None:
        attributes |= {"file": case.file} | ({} if case.line is None else {"line": case.line})
    element = _element("testcase", attributes)
    if case.kind:
        kind = {} if case.kind == "skipped" else {"type": case.suite}
        element.append(_element(case.kind, {"message": case.message, **kind}))
        element[0].text = readable(case.text)
    return element


def _counts(cases: list[_Case]) -> dict[str, object]:
    kinds = [case.kind for case in cases]
    return {
        "tests": len(cases),
        "failures": kinds.count("failure"),
        "errors": kinds.count("error"),
        "skipped": kinds.count("skipped"),
    }


def _element(name: str, attributes: dict[str, object]) -> ElementTree.Element:
    return ElementTree.Element(name, {key: readable(str(value)) for key, value in attributes.items()})

"""The formats of reports: their names, and the way from a report to a text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os

    from lawful.engine.run import LawRun
    from lawful.reports.core import Report

FORMATS = ("text", "json", "sarif", "junit", "github", "html")
_SUFFIXES = {".json": "json", ".sarif": "sarif", ".xml": "junit", ".html": "html", ".htm": "html"}


def format_of(form: str | None, output: str | None) -> str:
    """The format that is asked for, or that the name of the file is the usual one for."""
    if form is not None:
        return form
    name = (output or "").lower()
    return next((each for suffix, each in _SUFFIXES.items() if name.endswith(suffix)), "text")


def render(report: Report, form: str, *, title: str | None = None) -> str:
    """A report in any format but text, which has more options."""
    if form == "json":
        from lawful.reports import json

        return json.render(report).decode()
    if form == "sarif":
        from lawful.reports import sarif

        return sarif.render(report).decode()
    if form == "junit":
        from lawful.reports import junit

        return junit.render(report)
    if form == "github":
        from lawful.reports import github

        return github.render(report)
    from lawful.reports import html

    return html.render(report, title=title)


def render_run(
    run: LawRun,
    form: str,
    folder: str | os.PathLike[str],
    *,
    command: str = "run",
    baseline: str | None = None,
    title: str | None = None,
    details: bool = False,
    known: bool = False,
) -> str:
    """The report on a watched program in any format; `details` and `known` are for text."""
    if form == "text":
        from lawful.reports import live, text

        return text.plain(live.report_lines(run, folder, details=details, known=known))
    from lawful.reports import gather
    from lawful.reports.sources import SourceLines

    report = gather.of_live(run, SourceLines(folder), command=command, baseline=baseline, pictures=form == "html")
    return render(report, form, title=title)

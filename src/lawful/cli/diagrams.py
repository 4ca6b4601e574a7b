"""Where the diagrams of broken views go: one file for each violation."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from lawful.cli import trace_input
from lawful.errors import LawfulError

if TYPE_CHECKING:
    from lawful.engine.findings import Finding
    from lawful.engine.run import LawRun
    from lawful.reports.sequence import Diagram

_SUFFIXES = (".svg", ".mmd", ".md")


class Diagrams:
    """The first violation goes into the file that was asked for; the names of further files have a number."""

    def __init__(self, path: str, inputs: Sequence[str | None], most: int | None) -> None:
        """Refuses a path that cannot hold a diagram. `inputs` are files that no diagram may replace."""
        self._stem, self._suffix = os.path.splitext(path)
        if self._suffix.lower() not in _SUFFIXES:
            hint = "an SVG picture (.svg), or Mermaid (.mmd, or .md for a page of Markdown)"
            raise LawfulError("usage", "the name of a diagram ends in .svg, .mmd or .md", where=path, hint=hint)
        trace_input.look_at_output(path, inputs, "diagram")
        self._kept = {os.path.realpath(each) for each in inputs if each is not None}
        self._most = most
        self._number = 0
        self.drawn = 0
        """How many there are."""

    @property
    def messages(self) -> int:
        """How many messages are shown before the one that is not allowed."""
        from lawful.reports import violated_view

        return violated_view.MOST if self._most is None else self._most

    def draw(self, run: LawRun, findings: Iterable[Finding], name: str) -> None:
        """Draw the findings about views, each into its file; `name`: of the program, or of the trace."""
        from lawful.reports import violated_view

        for finding in findings:
            diagram = violated_view.violated_view(run, finding, self.messages, name)
            if diagram is not None and finding.diagram is None:
                finding.diagram = self._write(diagram)
                self.drawn += 1

    def _write(self, diagram: Diagram) -> str:
        path = self._next()
        with trace_input.opened(path) as file:
            file.write(self._render()(diagram))
        return path

    def _next(self) -> str:
        while True:
            self._number += 1
            path = f"{self._stem}{f'-{self._number}' if self._number > 1 else ''}{self._suffix}"
            if os.path.realpath(path) not in self._kept:
                return path

    def _render(self) -> Callable[[Diagram], str]:
        from lawful.reports import sequence

        forms = {".svg": sequence.render_svg, ".mmd": sequence.render_mermaid, ".md": sequence.render_markdown}
        return forms[self._suffix.lower()]

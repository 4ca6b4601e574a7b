"""A law as HTML, as notebooks show it."""

from __future__ import annotations


class Shown:
    """What is shown in a notebook: its name and its text."""

    name: str
    source: str

    def _repr_html_(self) -> str:
        from lawful import markup  # only notebooks need it

        return f"<p><b>{markup.text(self.name)}</b></p>{markup.code(self.source)}"

"""Pieces of HTML for notebooks. Whatever is given is text: nothing in it can become markup."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from lawful.diagnostics import encodable, printable


def text(content: object) -> str:
    """A value as text."""
    return escape(encodable(printable(str(content))))


def code(content: str) -> str:
    """Several lines as they are."""
    lines = "\n".join(escape(encodable(printable(line))) for line in content.splitlines())
    return f"<pre>{lines}</pre>"


def table(heads: Sequence[str], rows: Iterable[Sequence[object]], *, numbers: Iterable[int] = ()) -> str:
    """A table; columns of `numbers` stand to the right."""
    right = frozenset(numbers)
    head = "".join(f'<th scope="col">{text(each)}</th>' for each in heads)
    body = "".join(f"<tr>{''.join(_cell(cell, at in right) for at, cell in enumerate(row))}</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _cell(content: object, right: bool) -> str:
    return f'<td style="text-align: {"right" if right else "left"}">{text(content)}</td>'

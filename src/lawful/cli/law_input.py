"""Laws that a command line names: loading them, and printing what is wrong with them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from lawful.diagnostics import Source, render_all
from lawful.errors import LawError, LawfulError
from lawful.laws.loader import find_laws, is_shipped, load_law

if TYPE_CHECKING:
    from lawful.laws.protocol import Law


def load_laws(words: Sequence[str], functions: Sequence[str] = ()) -> list[Law]:
    """All laws. If several are wrong, every error is printed; `functions` are files with functions for views."""
    if functions:
        from lawful.laws.grammar.functions import load

        for path in functions:
            load(path)
    laws: dict[str, Law] = {}
    own: list[Law] = []
    errors: list[LawError] = []
    for word in words:
        try:
            for name, path in find_laws(word).items():
                if name not in laws:
                    laws[name] = load_law(path, name=name)
                    if not is_shipped(path):
                        own.append(laws[name])
        except LawError as error:
            errors.append(error)
    raise_last(errors)
    for law in own:
        if law.warnings:
            click.echo(render_all(law.warnings, Source(law.source, law.name)) + "\n", err=True)
    return list(laws.values())


def raise_last(errors: Sequence[LawfulError]) -> None:
    """Print all errors but the last, and raise that one: `main` prints it."""
    for error in errors[:-1]:
        click.echo(error.render() + "\n", err=True)
    if errors:
        raise errors[-1]

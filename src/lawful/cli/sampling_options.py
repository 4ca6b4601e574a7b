"""What commands that sample share: their options, the picture, and the store of confidence."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from lawful import config
from lawful.atomic_write import atomic_write
from lawful.cli.options import options
from lawful.cli.protected_output import notify
from lawful.cli.trace_input import look_at_output, number
from lawful.diagnostics import printable
from lawful.errors import LawfulError

if TYPE_CHECKING:
    from lawful.confidence.engine import Confidence, Counted
    from lawful.confidence.store import ConfidenceHistory
    from lawful.engine.watch_settings import WatchSettings
    from lawful.laws.protocol import Law


def _number(ctx: click.Context, param: click.Parameter, text: str | None) -> float | None:
    return None if text is None else number(param.opts[0], text)


sampling_options = options(
    click.option(
        "--confidence",
        metavar="SHARE",
        callback=_number,
        help="Sample objects until Lawful is this sure, as 0.99999.  [default: 0.999 when sampling]",
    ),
    click.option(
        "--error-rate",
        metavar="RATE",
        callback=_number,
        help="Rule out a larger share of violating objects than this.  [default: 0.001 when sampling]",
    ),
)
"""Options for confidence. The values are checked where they are used."""


def sampled(settings: WatchSettings, asked: config.SamplingConfig, *, laws: bool) -> WatchSettings:
    """The settings of a run that samples."""
    from lawful.engine import sample_tracking

    if not laws:
        hint = "--law FILE: an invariant, or any law about objects"
        raise LawfulError("usage", "there is a confidence to reach, but no law to be confident of", hint=hint)
    return replace(settings, demand=sample_tracking.demand(asked))


def refuse_unused(given: config.SamplingConfig, on_violation: str, *, learns: bool = False) -> None:
    """Refuse options of sampling where nothing is sampled. `learns`: a store is for what was learned."""
    unused = [
        what
        for what, wanted in (
            ("there is a picture of confidence to draw", given.picture is not None),
            ("there is a seed for sampling", given.seed is not None),
            ("there is a store", given.store is not None and not learns),
            ("violations are only counted", on_violation == "count"),
        )
        if wanted
    ]
    if unused:
        hint = "add --confidence, --error-rate or --set sampling.policy=off"
        raise LawfulError("usage", f"{unused[0]}, but nothing is sampled", hint=hint)


def look_at_picture(path: str | None, inputs: Iterable[str | None]) -> str | None:
    """Refuse a bad file name for a picture before anything is done. The path is absolute: programs change folders."""
    if path is None:
        return None
    if not path.endswith(".svg"):
        hint = f"pictures are SVG: --set sampling.picture={printable(os.path.splitext(path)[0])}.svg"
        raise LawfulError("usage", "the name of a picture ends in .svg", where=path, hint=hint)
    look_at_output(path, inputs, "picture")
    return os.path.abspath(path)


def confidence_history(store: str | None, laws: Sequence[Law]) -> ConfidenceHistory | None:
    """What earlier runs have counted, if that is kept."""
    if store is None:
        return None
    from lawful.confidence.store import ConfidenceHistory

    return ConfidenceHistory(store, laws)


def fingerprint(path: str) -> str:
    """What a trace is known by in a store, whatever its name; a stream is another one each time."""
    import hashlib
    import uuid

    if path == "-" or not os.path.isfile(path):
        return uuid.uuid4().hex
    with open(path, "rb") as file:
        return f"trace {hashlib.file_digest(file, 'sha256').hexdigest()}"


def keep(
    confidence: Confidence,
    memory: ConfidenceHistory | None,
    picture: str | None,
    runs: Mapping[str, Counted] | None = None,
) -> None:
    """What the run has counted goes into the store, and into a picture."""
    try:
        if memory is not None:
            memory.keep(confidence, runs)
        if picture is not None:
            from lawful.reports import confidence as reports

            with atomic_write(picture) as file:
                file.write(reports.picture(confidence.summary()))
    except LawfulError as error:
        notify(f"cannot keep the samples: {error.where}: {error.message}")
    except OSError as error:
        notify(f"cannot keep the samples: {error}")

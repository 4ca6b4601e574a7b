"""The parameters of a learner, their defaults, and the errors for bad values."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import lru_cache
from typing import Any

from lawful.diagnostics import did_you_mean, quoted
from lawful.errors import LawfulError
from lawful.learning import strategies, templates
from lawful.learning.event_numbering import JOINS
from lawful.learning.window_protocol import Product

CORES = ("", "python", "native")
MOST_WINDOW = 10_000_000  # events that are held in memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Learning:
    """How to learn rules: the parameters of a learner. A bad value is an error with a slug."""

    window: int = 25  # events that the expiring one still sees, section 3.1
    budget: int = 10  # anomalies that are wanted, section 3.4
    templates: tuple[str, ...] = templates.DEFAULT
    strategy: str = strategies.DEFAULT
    thresholds: Mapping[str, float] = field(default_factory=dict)  # those that do not begin at their defaults
    seed: int = 0  # of the tuner
    tune: bool = True
    tune_every: int = 500_000  # events; a survey takes as long as 50,000 of them
    joins: frozenset[str] = frozenset()
    all_rules: bool = False  # nothing is pruned
    most_pairs: int = 200_000  # that are kept at a time, for the sake of memory; 0: all
    core: str = ""  # the best there is

    def __post_init__(self) -> None:
        _whole("window-range", "the window", self.window, 0, MOST_WINDOW)
        _whole("budget-range", "the budget of anomalies", self.budget, 0)
        _whole("tune-every-range", "the number of events between two moves of the tuner", self.tune_every, 1)
        _whole("most-pairs-range", "the number of pairs that are kept", self.most_pairs, 0)
        _whole("seed-range", "the seed", self.seed, None)
        for name, value in (("tune", self.tune), ("all_rules", self.all_rules)):
            if not isinstance(value, bool):
                raise LawfulError("parameter-type", f"{name} must be true or false, not {value!r:.60}")
        if self.core not in CORES:
            raise LawfulError("core-unknown", f"unknown core {self.core!r:.60}", hint="use python or native")
        object.__setattr__(self, "templates", _distinct(_texts("templates", self.templates)))
        object.__setattr__(self, "joins", frozenset(_texts("joins", self.joins)))
        for join in sorted(self.joins):
            if join not in JOINS:
                raise LawfulError(
                    "join-unknown", f"unknown join {quoted(join)}", hint=f"the joins are {', '.join(JOINS)}"
                )
        if not isinstance(self.strategy, str):
            raise LawfulError("parameter-type", f"strategy must be a string, not {self.strategy!r:.60}")
        if not isinstance(self.thresholds, Mapping):
            raise LawfulError("parameter-type", f"thresholds must map names to numbers, not {self.thresholds!r:.60}")
        strategies.parse(self.strategy).values(self.thresholds)
        object.__setattr__(self, "thresholds", dict(self.thresholds))

    @property
    def product(self) -> Product:
        """All templates as one automaton."""
        return templates.compile(self.templates)

    def changed(self, **changes: Any) -> Learning:
        """The same with other values for some of them."""
        names = [each.name for each in fields(self)]
        for name in changes:
            if name not in names:
                near = did_you_mean(name, names)
                hint = f"did you mean {near}?" if near else f"the parameters are {', '.join(names)}"
                raise LawfulError("parameter-unknown", f"unknown parameter {quoted(name)}", hint=hint)
        return replace(self, **changes)

    def to_json(self) -> dict[str, Any]:
        """All of them in JSON types."""
        return asdict(self) | {
            "templates": list(self.templates),
            "thresholds": dict(self.thresholds),
            "joins": sorted(self.joins),
        }


@lru_cache(maxsize=16)
def _distinct(texts: tuple[str, ...]) -> tuple[str, ...]:
    kept = templates.distinct(texts)
    templates.compile(kept)
    return kept


def _whole(slug: str, what: str, value: object, least: int | None, most: int | None = None) -> None:
    if type(value) is int and (least is None or value >= least) and (most is None or value <= most):
        return
    wanted = "a whole number"
    if least is not None:
        wanted += f" from {least}" if most is None else f" from {least} to {most:,}"
    raise LawfulError(slug, f"{what} must be {wanted}, not {value!r:.60}")


def _texts(what: str, value: object) -> tuple[str, ...]:
    if isinstance(value, Collection) and not isinstance(value, str | bytes | Mapping):
        texts = tuple(value)
        if all(isinstance(text, str) for text in texts):
            return texts
    raise LawfulError("parameter-type", f"{what} must be a list of strings, not {value!r:.60}")

"""How sure one is of each class of objects: lives that were followed, how they ended, what the policy makes of it."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lawful.confidence.policy_automaton import Policy, Walk
from lawful.confidence.statistics import Claim, complement, samples_needed
from lawful.confidence.summary import ClassSummary, LawSummary, Point
from lawful.pristine_os import clock

_PATIENCE = 1.0  # seconds
_NO_END = 60.0  # seconds after which one gives up waiting for the first end of a life
_LONG = 4  # times the mean of a class: a life that is longer is a long one
_MOST_POINTS = 512  # of a series; then every second one is dropped


@dataclass(frozen=True)
class Demand:
    """What is asked for: that, with this confidence, fewer objects than the error rate break a law."""

    confidence: float
    error_rate: float
    policy: Policy
    seed: int | None = None  # of the coins; None: another one each time

    @property
    def delta(self) -> float:
        return complement(self.confidence)

    @property
    def needed(self) -> int:
        """Clean samples that make one sure enough: the paper's M."""
        return samples_needed(self.error_rate, self.delta)


@dataclass
class Tally:
    """How the lives ended that a law has judged."""

    clean: int = 0
    violated: int = 0
    unknown: int = 0

    @property
    def samples(self) -> int:
        return self.clean + self.violated

    def add(self, other: Tally) -> None:
        self.clean += other.clean
        self.violated += other.violated
        self.unknown += other.unknown

    def without(self, other: Tally) -> Tally:
        return Tally(self.clean - other.clean, self.violated - other.violated, self.unknown - other.unknown)

    def to_json(self) -> dict[str, int]:
        return {"clean": self.clean, "violated": self.violated, "unknown": self.unknown}


Counted = dict[tuple[str, str], Tally]


@dataclass
class Kind:
    """A class of objects: one coin, one policy, and a tally for each of its laws."""

    name: str
    walk: Walk
    laws: dict[str, Tally]  # of this run
    before: dict[str, Tally]  # of earlier runs
    born: int = 0  # objects that began to live while there was a coin to flip
    taken: int = 0  # of these, those that were followed
    alive: int = 0
    ended: int = 0  # lives that are over
    lasted: float = 0.0  # how long these were, all together
    last_end: float = 0.0  # when the last one was
    lacking: bool = False  # are there violations after which it is not known what the claims lack?
    series: list[Point] = field(default_factory=list)
    every: int = 1  # how many points of the series make one
    skipped: int = 0

    def total(self, law: str) -> Tally:
        total = Tally()
        total.add(self.laws[law])
        total.add(self.before.get(law, Tally()))
        return total

    @property
    def clean(self) -> int:
        """Of the law with the fewest."""
        return min((self.total(law).clean for law in self.laws), default=0)


class Confidence:
    """What is known about all classes of objects of a run."""

    def __init__(self, demand: Demand, classes: Mapping[str, Sequence[str]]) -> None:
        """`classes`: by the name of a class those of its laws."""
        self.demand = demand
        self.needed = demand.needed
        self.seed = secrets.randbits(64) if demand.seed is None else demand.seed
        self.kinds = {
            name: Kind(name, Walk(demand.policy, self.needed, self.seed + at), {law: Tally() for law in laws}, {})
            for at, (name, laws) in enumerate(classes.items())
        }
        self.idle: Callable[[Kind], int] | None = None
        """Tells how many of the objects of a class that are alive owe nothing."""
        self.on_change: Callable[[Kind], None] | None = None
        """Is told when the rate or the budget of a class has changed."""
        self._began = clock.monotonic()

    # -- what happens -----------------------------------------------------------------------------

    def begin(self) -> None:
        """The run begins."""
        self._began = clock.monotonic()
        for kind in self.kinds.values():
            self._tell(kind)

    @property
    def now(self) -> float:
        """Seconds since the run began."""
        return clock.monotonic() - self._began

    def go_on(self, kind: Kind, walk: Walk | None) -> None:
        """Go on where an earlier run was, whose counts are in `before` already."""
        if walk is not None:
            walk.alive = 0  # no object lives on in another run
            kind.walk = walk
        self._require(kind)

    def change(self, demand: Demand) -> None:
        """Be more or less sure, or in another way, from now on. Lives that were counted count on.

        Each demand is met by itself; of several that were tried one after the other, the best is not to be believed
        more than the first.
        """
        self.demand, self.needed = demand, demand.needed
        for at, kind in enumerate(self.kinds.values()):
            before, kind.walk = kind.walk, Walk(demand.policy, self.needed, self.seed + at)
            kind.walk.alive, kind.walk.count = before.alive, kind.clean
            self._require(kind)
            self._tell(kind)

    def flip(self, kind: Kind) -> bool:
        """An object is born: is it to be followed?"""
        kind.born += 1
        was_open = kind.walk.open
        if not kind.walk.take():
            return False
        kind.taken += 1
        kind.alive += 1
        self._after(kind, kind.walk.open != was_open)
        return True

    def took(self, kind: Kind) -> None:
        """An object was born, and somebody else has decided that it is followed."""
        kind.taken += 1
        kind.alive += 1
        self._after(kind, kind.walk.taken())

    def ended(self, kind: Kind, began: float, violated: Iterable[str], unknown: Iterable[str]) -> None:
        """A life that was followed since `began` is over.

        Of some laws it is known that they were broken, of others nothing is known.
        """
        kind.alive -= 1
        kind.ended += 1
        kind.last_end = self.now
        kind.lasted += kind.last_end - began
        broken, unclear = set(violated), set(unknown)
        if not broken and not unclear:  # the usual case, and a quick one
            for tally in kind.laws.values():
                tally.clean += 1
            if kind.walk.clean():
                self._require(kind)  # in another state, the target may be another
                self._tell(kind)
            return
        for law, tally in kind.laws.items():
            if law in broken:
                tally.violated += 1
            elif law in unclear:
                tally.unknown += 1
            else:
                tally.clean += 1
        if broken:  # of which the policy was told when it happened
            kind.lacking = True
        else:
            self._after(kind, kind.walk.unknown())

    def settle(self) -> None:
        """Some lives have ended. What the claims lack after violations takes a while to find out: it is done once."""
        for kind in self.kinds.values():
            if kind.lacking:
                kind.lacking = False
                self._require(kind)

    def _require(self, kind: Kind) -> None:
        """After violations it takes more to be sure: let the policy's target be what the claims still lack."""
        claims = [self.claim(kind, law) for law in kind.laws]
        missing = max((claim.needed - claim.samples for claim in claims), default=0)
        self._after(kind, kind.walk.require(kind.walk.count + missing if missing > 0 else self.needed))

    def violated(self, kind: Kind) -> None:
        """A law was broken for the first time in a life."""
        self._after(kind, kind.walk.violated())

    def was_violated(self, kind: Kind, law: str) -> None:
        """A life that was counted as clean was not, as is known now."""
        kind.laws[law].clean -= 1
        kind.laws[law].violated += 1
        kind.lacking = True
        self._after(kind, kind.walk.violated())

    def new_code(self) -> None:
        """Code of the program ran for the first time."""
        for kind in self.kinds.values():
            self._after(kind, kind.walk.new_code())

    def rare_code(self) -> None:
        """Code of the program ran that seldom runs."""
        for kind in self.kinds.values():
            self._after(kind, kind.walk.rare_code())

    def beat(self, overhead: float | None = None, lately: float | None = None) -> None:
        """Time has passed. `overhead`: the share of it that watching took, since the last time, and lately."""
        now = self.now
        for kind in self.kinds.values():
            changed = self._outwaited(kind, now) | kind.walk.tick(now)
            if overhead is not None:
                changed = kind.walk.overhead(overhead, now) or changed
            self._after(kind, changed)
            self._note(kind, now, lately)

    def _outwaited(self, kind: Kind, now: float) -> bool:
        """Objects that live as long as the program hold the last places, and no target would ever be reached.

        If nothing has ended for much longer than lives of this class last, those that are left give their places to
        others. They are followed all the same, and count if they end. To wait no longer than for any life would favour
        short ones. Those that owe something keep their places: they may be about to break a law.
        """
        walk = kind.walk
        if walk.budget != 0 or not walk.alive:
            return False
        patience = max(_PATIENCE, _LONG * kind.lasted / kind.ended) if kind.ended else _NO_END
        if now - kind.last_end < patience:
            return False
        idle = walk.alive if self.idle is None else min(walk.alive, self.idle(kind))
        return idle > 0 and walk.unknown(idle)

    def _after(self, kind: Kind, changed: bool) -> None:
        if changed:
            self._tell(kind)

    def _tell(self, kind: Kind) -> None:
        if self.on_change is not None:
            self.on_change(kind)

    def _note(self, kind: Kind, now: float, overhead: float | None) -> None:
        kind.skipped += 1
        if kind.skipped < kind.every:
            return
        kind.skipped = 0
        violations = max((kind.total(law).violated for law in kind.laws), default=0)
        kind.series.append(Point(now, kind.walk.rate, kind.clean, overhead, violations))
        if len(kind.series) > _MOST_POINTS:
            del kind.series[1::2]
            kind.every *= 2

    # -- what is known ----------------------------------------------------------------------------

    def claim(self, kind: Kind, law: str) -> Claim:
        """What can be said about the objects of a class, and a law."""
        tally = kind.total(law)
        return Claim(self.demand.error_rate, self.demand.delta, tally.samples, tally.violated)

    @property
    def refuted(self) -> bool:
        """Is some law broken by more objects than the error rate allows?"""
        return any(self.claim(kind, law).refuted for kind in self.kinds.values() for law in kind.laws)

    def counted(self) -> Counted:
        """What this run has counted so far, by class and law."""
        return {
            (name, law): tally.without(Tally()) for name, kind in self.kinds.items() for law, tally in kind.laws.items()
        }

    def summary(self) -> list[ClassSummary]:
        """All of it, for reports."""
        return [self._summary(kind) for kind in self.kinds.values()]

    def _summary(self, kind: Kind) -> ClassSummary:
        laws = []
        for law in kind.laws:
            tally, claim = kind.total(law), self.claim(kind, law)
            laws.append(LawSummary.of(law, claim, unknown=tally.unknown))
        return ClassSummary(
            class_name=kind.name,
            state=kind.walk.state,
            rate=kind.walk.rate,
            created=kind.born,
            sampled=kind.taken,
            alive=kind.alive,
            moves=tuple(kind.walk.moves),
            laws=tuple(laws),
            series=tuple(kind.series),
        )

    # -- several processes ------------------------------------------------------------------------

    def after_fork_in_child(self) -> None:
        """Count anew: what was counted so far, the parent tells."""
        for kind in self.kinds.values():
            kind.laws = {law: Tally() for law in kind.laws}
            kind.before = {}
            kind.born = kind.taken = kind.alive = 0
            kind.series = []

    def snapshot(self) -> dict[str, Any]:
        """What this process has counted, in JSON's types."""
        return {
            name: {
                "born": kind.born,
                "taken": kind.taken,
                "alive": kind.alive,
                "laws": {law: tally.to_json() for law, tally in kind.laws.items()},
            }
            for name, kind in self.kinds.items()
        }

    def merge(self, other: Mapping[str, Any]) -> None:
        """Add what another process has counted: its `snapshot`."""
        for name, data in other.items():
            kind = self.kinds.get(name)
            if kind is None:
                continue
            kind.born += data["born"]
            kind.taken += data["taken"]
            kind.alive += data["alive"]
            for law, counts in data["laws"].items():
                if law in kind.laws:
                    kind.laws[law].add(Tally(**counts))

"""The confidence in each class of objects: which were sampled, how their lives ended, and what the policy does."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from lawful.confidence.policy_automaton import Policy, Trigger
from lawful.confidence.policy_run import PolicyRun
from lawful.confidence.statistics import complement, samples_needed
from lawful.confidence.summary import ClassSummary, LawSummary, Point
from lawful.pristine_os import clock

_PATIENCE = 1.0  # seconds
_NO_END = 60.0  # seconds to wait for the first end of a life
_LONG = 4  # times the mean of a class: a life that is longer is a long one
_MOST_POINTS = 512  # of a series; then every second point is dropped


@dataclass(frozen=True)
class Demand:
    """The goal of sampling: this confidence that fewer objects than the error rate break a law."""

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


Counted = dict[tuple[str, str], Tally]


@dataclass
class SampledGroup:
    """A class of objects: one coin, one policy, and a tally for each of its laws."""

    name: str
    policy_run: PolicyRun
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
    """The samples of all classes of objects of a run, and what they show."""

    def __init__(self, demand: Demand, classes: Mapping[str, Sequence[str]]) -> None:
        """`classes`: by the name of a class those of its laws."""
        self.demand = demand
        self.needed = demand.needed
        self.seed = secrets.randbits(64) if demand.seed is None else demand.seed
        self.groups = {
            name: SampledGroup(
                name, PolicyRun(demand.policy, self.needed, self.seed + at), {law: Tally() for law in laws}, {}
            )
            for at, (name, laws) in enumerate(classes.items())
        }
        self.idle: Callable[[SampledGroup], int] | None = None  # how many living objects of a class owe nothing
        self.on_change: Callable[[SampledGroup], None] | None = None  # called when a rate or a budget has changed
        self._began = clock.monotonic()

    # -- what happens -----------------------------------------------------------------------------

    def begin(self) -> None:
        """The run begins."""
        self._began = clock.monotonic()
        for group in self.groups.values():
            self._tell(group)

    @property
    def now(self) -> float:
        """Seconds since the run began."""
        return clock.monotonic() - self._began

    def go_on(self, group: SampledGroup, policy_run: PolicyRun | None) -> None:
        """Go on where an earlier run was, whose counts are in `before` already."""
        if policy_run is not None:
            policy_run.alive = 0  # no object lives on in another run
            group.policy_run = policy_run
        self._require(group)

    def change(self, demand: Demand) -> None:
        """Meet another demand from now on, with the lives that were counted so far."""
        self.demand, self.needed = demand, demand.needed
        for at, group in enumerate(self.groups.values()):
            before, group.policy_run = group.policy_run, PolicyRun(demand.policy, self.needed, self.seed + at)
            group.policy_run.alive, group.policy_run.count = before.alive, group.clean
            self._require(group)
            self._tell(group)

    def flip(self, group: SampledGroup) -> bool:
        """An object is born: is it to be followed?"""
        group.born += 1
        was_open = group.policy_run.open
        if not group.policy_run.take():
            return False
        group.taken += 1
        group.alive += 1
        self._after(group, group.policy_run.open != was_open)
        return True

    def took(self, group: SampledGroup) -> None:
        """An object was born, and somebody else has decided that it is followed."""
        group.taken += 1
        group.alive += 1
        self._after(group, group.policy_run.taken())

    def ended(self, group: SampledGroup, began: float, violated: Iterable[str], unknown: Iterable[str]) -> None:
        """A life that was followed since `began` is over; it has violated some laws, and is unknown to others."""
        group.alive -= 1
        group.ended += 1
        group.last_end = self.now
        group.lasted += group.last_end - began
        broken, unclear = set(violated), set(unknown)
        for law, tally in group.laws.items():
            if law in broken:
                tally.violated += 1
            elif law in unclear:
                tally.unknown += 1
            else:
                tally.clean += 1
        if broken:  # the policy has reacted when it happened
            group.lacking = True
        elif unclear:
            self._after(group, group.policy_run.unknown())
        elif group.policy_run.clean():
            self._require(group)  # in another state, the target may be another
            self._tell(group)

    def settle(self) -> None:
        """Some lives have ended. What the claims lack after violations takes a while to find out: it is done once."""
        for group in self.groups.values():
            if group.lacking:
                group.lacking = False
                self._require(group)

    def _require(self, group: SampledGroup) -> None:
        """After violations it takes more to be sure: let the policy's target be what the claims still lack."""
        claims = [self.claim(group, law) for law in group.laws]
        missing = max((claim.needed - claim.samples for claim in claims), default=0)
        self._after(group, group.policy_run.require(group.policy_run.count + missing if missing > 0 else self.needed))

    def violated(self, group: SampledGroup) -> None:
        """A law was broken for the first time in a life."""
        self._after(group, group.policy_run.violated())

    def was_violated(self, group: SampledGroup, law: str) -> None:
        """A life that was counted as clean was not, as is known now."""
        group.laws[law].clean -= 1
        group.laws[law].violated += 1
        group.lacking = True
        self._after(group, group.policy_run.violated())

    def happened(self, trigger: Trigger) -> None:
        """Code of the program ran for the first time, or code that seldom runs."""
        for group in self.groups.values():
            self._after(group, group.policy_run.happened(trigger))

    def beat(self, overhead: float | None = None, lately: float | None = None) -> None:
        """Time has passed. `overhead`: the share of it that watching took, since the last time, and lately."""
        now = self.now
        for group in self.groups.values():
            changed = self._outwaited(group, now) | group.policy_run.tick(now)
            if overhead is not None:
                changed = group.policy_run.overhead(overhead, now) or changed
            self._after(group, changed)
            self._note(group, now, lately)

    def _outwaited(self, group: SampledGroup, now: float) -> bool:
        """Give the places of objects that live as long as the program to others, or no target would be reached.

        That waits much longer than lives of this class last, so as not to favour short ones. Objects that owe something
        keep their places: they may be about to break a law. All are still followed, and count if they end.
        """
        policy_run = group.policy_run
        if policy_run.budget != 0 or not policy_run.alive:
            return False
        patience = max(_PATIENCE, _LONG * group.lasted / group.ended) if group.ended else _NO_END
        if now - group.last_end < patience:
            return False
        idle = policy_run.alive if self.idle is None else min(policy_run.alive, self.idle(group))
        return idle > 0 and policy_run.unknown(idle)

    def _after(self, group: SampledGroup, changed: bool) -> None:
        if changed:
            self._tell(group)

    def _tell(self, group: SampledGroup) -> None:
        if self.on_change is not None:
            self.on_change(group)

    def _note(self, group: SampledGroup, now: float, overhead: float | None) -> None:
        group.skipped += 1
        if group.skipped < group.every:
            return
        group.skipped = 0
        violations = max((group.total(law).violated for law in group.laws), default=0)
        group.series.append(Point(now, group.policy_run.rate, group.clean, overhead, violations))
        if len(group.series) > _MOST_POINTS:
            del group.series[1::2]
            group.every *= 2

    # -- results ----------------------------------------------------------------------------------

    def claim(self, group: SampledGroup, law: str) -> LawSummary:
        """What the samples show about a law and the objects of a class."""
        tally = group.total(law)
        return LawSummary(self.demand.error_rate, self.demand.delta, tally.samples, tally.violated, law, tally.unknown)

    @property
    def refuted(self) -> bool:
        """Is some law broken by more objects than the error rate allows?"""
        return any(self.claim(group, law).refuted for group in self.groups.values() for law in group.laws)

    def counted(self) -> Counted:
        """What this run has counted so far, by class and law."""
        return {(name, law): replace(tally) for name, group in self.groups.items() for law, tally in group.laws.items()}

    def summary(self) -> list[ClassSummary]:
        """Everything, for reports."""
        return [
            ClassSummary(
                class_name=group.name,
                state=group.policy_run.state,
                rate=group.policy_run.rate,
                created=group.born,
                sampled=group.taken,
                alive=group.alive,
                moves=tuple(group.policy_run.moves),
                laws=tuple(self.claim(group, law) for law in group.laws),
                series=tuple(group.series),
            )
            for group in self.groups.values()
        ]

    # -- several processes ------------------------------------------------------------------------

    def after_fork_in_child(self) -> None:
        """Count from zero: the parent reports the counts so far."""
        for group in self.groups.values():
            group.laws = {law: Tally() for law in group.laws}
            group.before = {}
            group.born = group.taken = group.alive = 0
            group.series = []

    def snapshot(self) -> dict[str, Any]:
        """What this process has counted, in JSON's types."""
        return {
            name: {
                "born": group.born,
                "taken": group.taken,
                "alive": group.alive,
                "laws": {law: asdict(tally) for law, tally in group.laws.items()},
            }
            for name, group in self.groups.items()
        }

    def merge(self, other: Mapping[str, Any]) -> None:
        """Add what another process has counted: its `snapshot`."""
        for name, data in other.items():
            group = self.groups.get(name)
            if group is None:
                continue
            group.born += data["born"]
            group.taken += data["taken"]
            group.alive += data["alive"]
            for law, counts in data["laws"].items():
                if law in group.laws:
                    group.laws[law].add(Tally(**counts))

"""Sampled objects in a stream of events: which ones are followed, how their lives end, and which events laws see."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lawful.confidence.engine import Confidence, Demand, SampledGroup
from lawful.errors import LawfulError

if TYPE_CHECKING:
    from lawful.confidence.policy_automaton import Policy
    from lawful.config import SamplingConfig
    from lawful.engine.law_judge import LawJudge
    from lawful.laws.protocol import Law

Event = dict[str, Any]
ObjectId = int | str

CONFIDENCE = 0.999
ERROR_RATE = 0.001
POLICY = "off"

_LIFECYCLE = frozenset({"born", "gone", "tick"})  # in lives, and what is in none

_FAMILY = 2**32  # ids of a child process begin at its number times this


class TrackedSample:
    """One object that is followed."""

    __slots__ = ("began", "birth", "violated")

    def __init__(self, birth: Event, began: float) -> None:
        self.birth = birth  # the event that tells most about how it began
        self.began = began  # by the clock of the run
        self.violated: set[str] = set()  # names of laws that were broken in it


class SampleTracking:
    """Gives laws about objects only the events of followed objects, and counts how their lives end.

    The first event about an object flips a coin; for classes `sampled_by_tracer` the tracer has flipped it, and reports
    only followed objects. A life ends when the object is gone, or by its law. Lives that go on at the end of the stream
    count only if they broke a law.
    """

    def __init__(self, laws: Sequence[Law], demand: Demand, confidence: Confidence | None = None) -> None:
        """`confidence`: the counts of earlier streams, to continue with."""
        parts = [part for law in laws for part in law.parts]
        classes: dict[str, list[str]] = {}
        for part in parts:
            if part.subjects is not None:
                classes.setdefault(self.class_of(part), []).append(part.name)
        self.confidence = confidence or Confidence(demand, classes)
        self.unsampled_laws = [part.name for part in parts if part.subjects is None]  # laws that are not about objects
        self.sampled_by_tracer: frozenset[str] = frozenset()
        self._numbers: dict[int, str] = {}
        self._followed: dict[str, dict[ObjectId, TrackedSample]] = {name: {} for name in classes}
        self._ignored: dict[str, set[ObjectId]] = {name: set() for name in classes}  # not, or no longer, followed
        self._over: list[tuple[SampledGroup, ObjectId, TrackedSample]] = []  # in the batch that is being judged
        # By law: lives that seemed clean. A law that reports missing events only at the end may still reject them.
        self._clean: dict[str, set[ObjectId]] = {}
        self._shares: dict[tuple[LawJudge, ...], list[_Share]] = {}
        self._least = 0  # ids below are those of objects of another process

    def leave_to_tracer(self, classes: Mapping[int, str]) -> None:
        """The tracer flips the coins of these classes, by its numbers for them, and reports followed objects only."""
        self.sampled_by_tracer = frozenset(classes.values())
        self._numbers = dict(classes)

    @staticmethod
    def class_of(law: Law) -> str:
        """The name for a law's objects: their class or group or, if the law names none, the law."""
        assert law.subjects is not None
        return ", ".join(law.subjects.classes) or law.subjects.label or law.name

    def attach_laws(self, laws: Sequence[LawJudge]) -> None:
        """Ask these laws what objects owe."""

        def idle(group: SampledGroup) -> int:
            concerned = [each for each in laws if each.subjects is not None and each.kind == group.name]
            alive = list(self._followed[group.name])
            return sum(not any(each.monitor.owes(target) for each in concerned) for target in alive)

        self.confidence.idle = idle

    # -- in a batch of events ---------------------------------------------------------------------

    def admit(self, event: Event, concerned: tuple[LawJudge, ...]) -> tuple[LawJudge, ...]:
        """The laws, of those that an event concerns, that see it."""
        what = event.get("event")
        if what == "gone":
            return self._gone(event.get("targetId"), concerned)
        if what == "born":
            self._born(event)
        if not concerned:
            return concerned
        try:
            shares = self._shares[concerned]
        except KeyError:
            shares = self._shares[concerned] = _shares(concerned)
        refused: tuple[LawJudge, ...] = ()
        for name, of, laws in shares:
            target = of(event)
            if target is None:  # the event is not about an object, such as the passing of time
                continue
            sample = self._followed[name].get(target)
            if sample is None:
                # A tracer that flips reports births. Others may make it report all objects.
                sample = None if name in self.sampled_by_tracer else self._begin(name, target, event)
                if sample is None:
                    refused += laws
            elif what == "new" and "stack" not in sample.birth:
                sample.birth = event
        if not refused:
            return concerned
        return tuple(each for each in concerned if each not in refused)

    def follows_all(
        self, kind: str, name: Any, concerned: tuple[LawJudge, ...]
    ) -> tuple[dict[ObjectId, TrackedSample], ...] | None:
        """For events of a kind and a name: if their `targetId` is in all of these, `admit` would let all laws see them.

        None: `admit` must decide.
        """
        if kind in _LIFECYCLE:
            return None
        found: list[dict[ObjectId, TrackedSample]] = []
        for share, _, laws in _shares(concerned):
            if laws[0].subjects is None or not laws[0].subjects.by_target:
                return None
            if kind == "new" and share not in self.sampled_by_tracer:
                return None  # it may say more about how a life began than earlier events
            found.append(self._followed[share])
        return tuple(found)

    def _born(self, event: Event) -> None:
        number, target = event.get("sampled"), event.get("targetId")
        name = self._numbers.get(number) if isinstance(number, int) else None
        if name is not None and isinstance(target, int | str):
            self._begin(name, target, event)

    def _begin(self, name: str, target: ObjectId, event: Event) -> TrackedSample | None:
        """Flip the coin at the first event about an object."""
        if target in self._ignored[name] or (isinstance(target, int) and target < self._least):
            return None
        group = self.confidence.groups[name]
        if name in self.sampled_by_tracer:
            self.confidence.took(group)
        elif not self.confidence.flip(group):
            self._ignored[name].add(target)
            return None
        sample = self._followed[name][target] = TrackedSample(event, self.confidence.now)
        return sample

    def _gone(self, target: Any, concerned: tuple[LawJudge, ...]) -> tuple[LawJudge, ...]:
        ended = [name for name, followed in self._followed.items() if target in followed]
        for name in ended:
            self._end(name, target)
        for ignored in self._ignored.values():
            ignored.discard(target)
        return tuple([each for each in concerned if each.subjects is None or each.kind in ended])

    def _end(self, name: str, target: ObjectId) -> None:
        sample = self._followed[name].pop(target)
        self._over.append((self.confidence.groups[name], target, sample))

    def violated(self, live: LawJudge, target: ObjectId | None) -> TrackedSample | None:
        """A law was broken by what an object did."""
        sample = None if target is None else self._sample(live.kind, target)
        if sample is None and target in self._clean.get(live.law.name, ()):
            self._clean[live.law.name].discard(target)
            self.confidence.was_violated(self.confidence.groups[live.kind], live.law.name)
        if sample is not None:
            first = not sample.violated
            sample.violated.add(live.law.name)
            if first:
                self.confidence.violated(self.confidence.groups[live.kind])
        return sample

    def _sample(self, name: str, target: ObjectId) -> TrackedSample | None:
        """The sample of an object that is followed, or was until this batch."""
        found = self._followed[name].get(target)
        if found is None:
            found = next((sample for group, each, sample in self._over if each == target and group.name == name), None)
        return found

    def settle(self, laws: Sequence[LawJudge]) -> None:
        """A batch has been judged: count the lives that ended in it."""
        for each in laws:
            if each.subjects is not None:
                for target in each.monitor.take_ended():
                    if target in self._followed[each.kind]:
                        self._end(each.kind, target)
                        self._ignored[each.kind].add(target)
        over, self._over = self._over, []
        for group, target, sample in over:
            judges = [each for each in laws if each.subjects is not None and each.kind == group.name]
            unknown = [each.law.name for each in judges if each.monitor.forget(target)]
            for each in judges:
                if not (each.monitor.names_offender or each.law.name in sample.violated or each.law.name in unknown):
                    self._clean.setdefault(each.law.name, set()).add(target)
            self.confidence.ended(group, sample.began, sample.violated, unknown)
        if over:
            self.confidence.settle()
        self._switch_off(laws)

    def _switch_off(self, laws: Sequence[LawJudge]) -> None:
        """Where a policy follows no objects, stop following the living ones. They do not count as samples."""
        for name, followed in self._followed.items():
            group = self.confidence.groups[name]
            if followed and group.policy_run.rate == 0:
                for target, sample in followed.items():
                    for each in laws:
                        if each.kind == name:
                            each.monitor.forget(target)
                    for law in sample.violated:
                        group.laws[law].violated += 1
                self._ignored[name].update(followed)
                followed.clear()

    def seemed_clean(self, live: LawJudge) -> int:
        """How many lives that seemed clean the law may still reject at the end."""
        return len(self._clean.get(live.law.name, ()))

    def end(self) -> None:
        """The stream is over. Violations of objects that are still alive count, too."""
        for name, followed in self._followed.items():
            group = self.confidence.groups[name]
            for target, sample in list(followed.items()):
                if sample.violated:
                    del followed[target]
                    group.alive -= 1
                    for law in sample.violated:
                        group.laws[law].violated += 1
        self.confidence.settle()

    def after_fork_in_child(self, process: int) -> None:
        """Drop the parent's objects: copies are not samples."""
        self._least = process * _FAMILY
        for name, followed in self._followed.items():
            followed.clear()
            self._ignored[name].clear()
        self._over.clear()
        self._clean.clear()
        self.confidence.after_fork_in_child()


_Share = tuple[str, Callable[[Event], ObjectId | None], tuple[Any, ...]]


def _shares(concerned: tuple[LawJudge, ...]) -> list[_Share]:
    """The sampled laws by the class of their objects, with the function that finds the object of an event.

    Laws of one language about one class mean the same object by an event.
    """
    found: dict[tuple[str, type], list[LawJudge]] = {}
    for each in concerned:
        if each.subjects is not None:
            found.setdefault((each.kind, type(each.subjects)), []).append(each)
    shares: list[_Share] = []
    for (name, _), laws in found.items():
        assert laws[0].subjects is not None
        shares.append((name, laws[0].subjects.of, tuple(laws)))
    return shares


def demand(asked: SamplingConfig, *, policy: Policy | None = None) -> Demand:
    """The demand of options and configuration, with a policy that the caller has read from a file."""
    from lawful.confidence import policies, statistics

    confidence = CONFIDENCE if asked.confidence is None else asked.confidence
    error_rate = ERROR_RATE if asked.error_rate is None else asked.error_rate
    statistics.share(confidence, "the confidence")
    statistics.share(error_rate, "the error rate")
    if asked.overhead is None:
        policy = policy or policies.find(asked.policy or POLICY)
    elif policy is None and asked.policy in (None, "overhead"):
        policy = policies.overhead(policies.share(asked.overhead))
    else:
        hint = "leave one of them out; a policy file can say `sample by overhead 5%`"
        raise LawfulError("usage", "an overhead and a policy cannot be combined", hint=hint)
    return Demand(confidence, error_rate, policy, asked.seed)

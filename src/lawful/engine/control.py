"""A run seen and steered while it goes on: its state in JSON's types, and the commands that change it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from heapq import nsmallest
from typing import TYPE_CHECKING, Any

from lawful.diagnostics import all_encodable, encodable
from lawful.engine.run_state import MOST_MOVES, Mark, Remade, class_json, finding_json
from lawful.errors import LawfulError
from lawful.pristine_os import clock
from lawful.sources.python import emitting

if TYPE_CHECKING:
    from lawful.engine.findings import Finding
    from lawful.engine.live_learning import LiveLearner
    from lawful.engine.session import Session
    from lawful.laws.protocol import Law
    from lawful.learning.learner import Learner
    from lawful.learning.window_protocol import Rule

MOST_RULES = 200

_LEARNING = ("window", "budget", "strategy", "thresholds", "seed", "tune", "tune_every", "all_rules", "most_pairs")
_SAMPLING = ("confidence", "error_rate", "policy", "overhead")


class Control:
    """Shows and steers one run, on one thread of Lawful."""

    def __init__(self, session: Session, *, program: str = "", record_to: str | None = None) -> None:
        """`record_to`: the only file that a trace can be recorded to."""
        self._session = session
        self._program = program
        self._record_to = record_to
        self._recorded = int(session.recording.on)
        self._file = record_to  # that was recorded to last
        self._muted: set[int] = set()
        self._numbers: dict[tuple[object, ...], int] = {}  # of findings, by their keys
        self._anomalies: dict[int, Finding] = {}  # that were shown, by number: they may be withdrawn
        self._rules: list[Rule] = []  # as they were last shown
        self._learned = Remade(self._rules_shown, self._reached)
        self._suspicions = Remade(self._anomalies_shown, self._reached)
        self._began = clock.monotonic()
        self._before = (self._began, 0)  # when events were last counted, and how many
        self._rate = 0.0

    # -- the state --------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """All but the findings."""
        session, live = self._session, self._session.live
        now = clock.monotonic()
        events = self._events()
        passed = now - self._before[0]
        if passed > 0:
            self._rate = (events - self._before[1]) / passed
            self._before = now, events
        tracer = session.tracer
        return {
            "program": encodable(self._program),
            "process": os.getpid(),
            "core": session.core.name,
            "seconds": round(now - self._began, 3),
            "over": session.finished,
            "events": events,
            "rate": round(self._rate, 1),
            "waiting": tracer.pending,
            "buffer": session.settings.buffer,
            "dropped": live.dropped + tracer.dropped,
            "cost": round(tracer.cost, 4),
            "threads": live.threads,
            "violations": live.violations,
            "errors": [encodable(text) for text in live.errors],
            "warnings": [encodable(text) for text in live.warnings],
            "laws": self._laws(),
            "learning": None if session.learner is None else self._learning(session.learner.learner),
            "sampling": None if session.sampler is None else self._sampling(),
            "recording": self._recording(),
        }

    def _events(self) -> int:
        session = self._session
        learner: LiveLearner | None = session.learner
        learned = learner.reached if learner is not None and learner.direct else 0
        return session.live.events + learned

    def _laws(self) -> list[dict[str, Any]]:
        found: dict[str, dict[str, Any]] = {}
        for each in self._session.live.laws:
            state = "paused" if each.paused else "over" if each.over else "on"
            law = found.setdefault(
                each.law.name, {"name": encodable(each.law.name), "state": state, "verdict": each.monitor.verdict.value}
            )
            if state == "on":
                law["state"] = state
        counts: dict[str, int] = {}
        for finding in self._session.live.findings:
            counts[finding.law] = counts.get(finding.law, 0) + finding.count
        for name, law in found.items():
            law["violations"] = counts.get(name, 0)
        return list(found.values())

    def _reached(self) -> object:
        """Changes when something was learned."""
        learner = self._session.learner
        return None if learner is None else (learner.reached, len(learner.learner.moves))

    def _learning(self, learner: Learner) -> dict[str, Any]:
        return {
            "parameters": {name: learner.parameters.to_json()[name] for name in _LEARNING},
            "events": learner.events,
            **self._learned.get(),
        }

    def _rules_shown(self) -> dict[str, Any]:
        from lawful.learning.learned_json import rule_json

        assert self._session.learner is not None
        learner = self._session.learner.learner
        counted = {"enforcing": 0, "learning": 0}

        def each_rule() -> Any:
            for rule in learner.rules():
                counted[rule.state.name.lower()] += 1
                yield rule

        self._rules = nsmallest(MOST_RULES, each_rule(), key=lambda rule: (-rule.state, -rule.satisfied, rule.failed))
        return {
            "counts": counted,
            "rules": [
                all_encodable({"number": number, "text": str(rule), **rule_json(rule)})
                for number, rule in enumerate(self._rules)
            ],
            "moves": [move._asdict() for move in list(learner.moves)[-MOST_MOVES:]],
            "known": 0 if learner.reported_before is None else len(learner.anomalies().known),
        }

    def _sampling(self) -> dict[str, Any]:
        assert self._session.sampler is not None
        confidence = self._session.sampler.confidence
        demand = confidence.demand
        return {
            "confidence": demand.confidence,
            "error_rate": demand.error_rate,
            "policy": demand.policy.name,
            "needed": confidence.needed,
            "classes": [class_json(each) for each in confidence.summary()],
        }

    def _recording(self) -> dict[str, Any]:
        file = self._file
        return {"on": self._session.recording.on, "file": None if file is None else encodable(os.path.basename(file))}

    def findings(self, known: Mapping[int, Mark]) -> list[dict[str, Any]]:
        """New or changed findings; `known`: the marks of those that were sent before, by number."""
        session = self._session
        found = {self._number(finding): finding for finding in session.live.findings}
        if session.learner is not None and not session.finished:
            found |= {self._number(finding): finding for finding in self._suspicions.get()}
        withdrawn = {number: each for number, each in self._anomalies.items() if number not in found}
        self._anomalies |= {number: each for number, each in found.items() if each.anomaly is not None}
        changed = []
        for number, finding in (found | withdrawn).items():
            mark = Mark(finding.count, number in self._muted, number in withdrawn)
            if known.get(number) != mark:
                changed.append(finding_json(number, finding, mark))
        return changed

    def _anomalies_shown(self) -> list[Finding]:
        learner = self._session.learner
        return [] if learner is None else learner.findings()

    def _number(self, finding: Finding) -> int:
        return self._numbers.setdefault(finding.key, len(self._numbers) + 1)

    # -- commands ---------------------------------------------------------------------------------

    def do(self, command: Mapping[str, Any]) -> dict[str, Any]:
        """Carry out a command. A wrong one raises LawfulError, and changes nothing."""
        acts: dict[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
            "learning": self._change_learning,
            "sampling": self._change_sampling,
            "add-law": self._add_law,
            "remove-law": self._remove_law,
            "pause-law": lambda asked: self._pause_law(asked, True),
            "resume-law": lambda asked: self._pause_law(asked, False),
            "mute": lambda asked: self._mute(asked, True),
            "unmute": lambda asked: self._mute(asked, False),
            "promote": self._promote,
            "record": self._record,
        }
        what = command.get("do")
        if not isinstance(what, str) or what not in acts:
            hint = f"there are {', '.join(acts)}"
            raise LawfulError("control-unknown", f"unknown command {what!r:.60}", hint=hint)
        if self._session.finished and what not in ("mute", "unmute", "promote"):
            raise LawfulError("control-over", "Lawful does not watch the program any more")
        try:
            return acts[what](command)
        finally:
            self.look_again()

    def look_again(self) -> None:
        """Make the shown values anew next time."""
        self._learned.forget()
        self._suspicions.forget()

    def _change_learning(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        learner = self._session.learner
        if learner is None:
            raise LawfulError("control-learning", "this run does not learn", hint="run it with --learn")
        learner.learner.change(**_changes(asked, _LEARNING))
        return {}

    def _change_sampling(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        from lawful.config import SamplingConfig
        from lawful.engine.sample_tracking import demand

        sampler = self._session.sampler
        if sampler is None:
            raise LawfulError("control-sampling", "this run does not sample", hint="run it with --confidence")
        changes = _changes(asked, _SAMPLING)
        for name, value in changes.items():
            if name in ("policy", "overhead") and not isinstance(value, str):
                raise LawfulError("control-value", f"{name} is a text, not {value!r:.60}")
            if name in ("confidence", "error_rate") and (isinstance(value, bool) or not isinstance(value, int | float)):
                raise LawfulError("control-value", f"{name} is a number, not {value!r:.60}")
        policy = changes.get("policy", "")
        if "/" in policy or policy.endswith(".policy"):
            raise LawfulError("control-value", "only policies with a name can be chosen here, not files")
        now = sampler.confidence.demand
        given = SamplingConfig(confidence=now.confidence, error_rate=now.error_rate, seed=now.seed)
        new = demand(replace(given, **changes))
        if not changes.keys() & {"policy", "overhead"}:
            new = replace(new, policy=now.policy)
        sampler.confidence.change(new)
        return {"needed": new.needed}

    def _add_law(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        from lawful.laws import catalog
        from lawful.laws.loader import load_law, parse_law

        name = _text(asked, "name")
        if "text" not in asked:
            laws = [load_law(catalog.find(each), name=each) for each in catalog.select(name)]
        else:
            laws = [parse_law(_text(asked, "text"), name=name)]
        known = {law.name for law in self._session.laws}
        again = [law.name for law in laws if law.name in known]
        if again:
            hint = "remove it first, or take another name"
            raise LawfulError("control-law", f"there is a law {again[0]} already", hint=hint)
        change_laws(self._session, laws)
        return {"laws": [law.name for law in laws]}

    def _law_name(self, asked: Mapping[str, Any]) -> str:
        name = _text(asked, "name")
        for each in self._session.live.laws:
            if encodable(each.law.name) == name:
                return each.law.name
        raise LawfulError("control-law", f"unknown law {name:.60}")

    def _remove_law(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        change_laws(self._session, remove=self._law_name(asked))
        return {}

    def _pause_law(self, asked: Mapping[str, Any], paused: bool) -> dict[str, Any]:
        self._session.pause_law(self._law_name(asked), paused)
        return {}

    def _mute(self, asked: Mapping[str, Any], muted: bool) -> dict[str, Any]:
        number = asked.get("finding")
        if number not in self._numbers.values() or not isinstance(number, int):
            raise LawfulError("control-finding", f"unknown finding {number!r:.60}")
        (self._muted.add if muted else self._muted.discard)(number)
        return {}

    def _promote(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """A rule as a law that a person can read and keep."""
        from lawful.learning.export import to_rml

        rule = self._rule(asked)
        learner = self._session.learner
        window = None if learner is None else learner.learner.parameters.window
        text = to_rml(
            [] if rule.whole_history else [rule], window=window, histories=[rule] if rule.whole_history else ()
        )
        return {"rml": text, "name": "rule.rml"}

    def _rule(self, asked: Mapping[str, Any]) -> Rule:
        """By its number in the last state; and by its text, since the client may have an older state."""
        number = asked.get("rule")
        found = self._rules[number] if isinstance(number, int) and 0 <= number < len(self._rules) else None
        if "text" in asked and (found is None or encodable(str(found)) != asked["text"]):
            found = next((rule for rule in self._rules if encodable(str(rule)) == asked["text"]), None)
        if found is None:
            raise LawfulError("control-rule", f"unknown rule {asked.get('text', number)!r:.60}")
        return found

    def _record(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        on = asked.get("on")
        if not isinstance(on, bool):
            raise LawfulError("control-value", "recording is switched on (true) or off (false)")
        if on and self._record_to is None:
            raise LawfulError("control-record", "this run has no file to record to", hint="run it with --trace FILE")
        if on and not self._session.recording.on:
            self._recorded += 1
            base, suffix = os.path.splitext(self._record_to or "")
            self._file = self._record_to if self._recorded == 1 else f"{base}.{self._recorded}{suffix}"
        self._session.record(self._file if on else None)
        return self._recording()


def _changes(asked: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    changes = asked.get("change")
    if not isinstance(changes, dict) or not changes:
        raise LawfulError("control-value", "`change` is an object with the new values")
    for name in changes:
        if name not in names:
            hint = f"there are {', '.join(names)}"
            raise LawfulError("control-value", f"{name!r:.60} cannot be changed here", hint=hint)
    return changes


def _text(asked: Mapping[str, Any], name: str) -> str:
    text = asked.get(name)
    if not isinstance(text, str) or not text.strip():
        raise LawfulError("control-value", f"`{name}` is a text")
    return text


def change_laws(session: Session, add: Sequence[Law] = (), remove: str | None = None) -> None:
    """Judge by other laws from now on. A new tracer takes over; the report says how long nothing was watched."""
    if session.sampler is not None:
        hint = "pause the law, or begin another run"
        raise LawfulError("control-sampling", "laws cannot be added or removed while objects are sampled", hint=hint)
    if session.core.name == "python" and sys.version_info < (3, 12):
        message = "laws cannot be added or removed by the pure-Python core on CPython 3.11"
        hint = "another tracer would not see threads that run already; build the C core, or use a newer Python"
        raise LawfulError("control-core", message, hint=hint)
    if session.finished or session.live.fault is not None:
        raise LawfulError("control-over", "Lawful does not watch the program any more")
    live, scope = session.live, session.settings.scope
    emitting.detach(session.tracer)
    began = clock.monotonic()
    for text in session.setup.warnings:
        live.warn(text)
    session.trace_for((*(law for law in session.laws if law.name != remove), *add))
    if remove is not None:
        live.remove(remove)
    live.add(add)
    session.tracer.start()
    emitting.attach(session.tracer, scope, session.fail)
    blind = (clock.monotonic() - began) * 1000
    live.warn(f"laws were changed while the program ran: for {blind:.0f} ms it was not watched")

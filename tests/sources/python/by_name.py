"""A plain `WatchPlanner`, which watches by name."""

from __future__ import annotations

from types import CodeType, FunctionType

from lawful.sources.python import names
from lawful.sources.python.sites import probes
from lawful.sources.python.tracer_protocol import Callee, CodePlan, Operation, Want, WatchPlanner

CALL = Want.PRE | Want.POST | Want.RAISE | Want.ARGS | Want.RESULT | Want.SITE
NEW = CALL | Want.NEW
NEXT = Want.NEXT | Want.SITE
YIELD = CALL | Want.YIELD
READ = Want.READ | Want.RESULT | Want.SITE
WRITE = Want.WRITE | Want.RESULT | Want.SITE
BRIEF = Want.PRE | Want.SITE

MODULE = "prog"
FILE = "prog.py"


class ByName(WatchPlanner):
    """Watches by name: `calls` where module `prog` calls it, `own` functions of `prog` where they start."""

    def __init__(self, calls: dict[str, Want], own: dict[str, Want]) -> None:
        self.calls = calls
        self.own = own
        self.asked: list[str] = []

    def plan(self, code: CodeType, module: str) -> CodePlan | None:
        if module != MODULE:
            return None
        self.asked.append(code.co_qualname)
        wants = self.own.get(f"{MODULE}.{code.co_qualname}")
        callee = None if wants is None else Callee(f"{MODULE}.{code.co_qualname}", wants)
        found = probes(code, frozenset(Operation)) if self.calls else ()
        return CodePlan(callee, found, FILE, True)

    def callee(self, function: object, receiver: type | None) -> Callee | None:
        if type(function) is FunctionType:
            name = names.code_name(function.__code__, names.module_of(function))
            if name in self.own:
                return Callee(name, Want.CALLEE_SIDE)
        return self._named(names.function_name(function))

    def receiver_callee(self, code: CodeType, receiver: type) -> Callee | None:
        name = f"{MODULE}.{code.co_qualname}"
        for kind in names.mro(receiver):
            for entry in names.class_dict(kind).values():
                for method in names.methods(entry):
                    if method.receiver and getattr(method.function, "__code__", None) is code:
                        return Callee(name, self.own[name] | Want.RECEIVER)
        return Callee(name, self.own[name])

    def operation(self, name: str, owner: type) -> Callee | None:
        found = names.lookup(owner, name)
        return None if found is None else self._named(f"{names.class_name(found[0])}.{name}")

    def field(self, name: str, owner: type) -> Callee | None:
        return self._named(f"{names.class_name(owner)}.{name}")

    def class_name(self, kind: type) -> str:
        return names.class_name(kind)

    def _named(self, name: str | None) -> Callee | None:
        wants = None if name is None else self.calls.get(name)
        return None if name is None or wants is None else Callee(name, wants)

"""Functions of the program that messages go to, and the places that call them."""

from __future__ import annotations

import inspect
from collections.abc import Set
from types import CodeType
from typing import Final, NamedTuple

from lawful.sources.actors.message_specs import MessageSpec, MessageSpecs, plain
from lawful.sources.python import name_resolution
from lawful.sources.python.instructions import UnknownBytecodeError
from lawful.sources.python.sites import probes
from lawful.sources.python.tracer_protocol import CodePlan, Operation

_CALLS: Final = frozenset({Operation.CALL, Operation.CALL_EX})


class EntryPoint(NamedTuple):
    """A function of the program that messages go to."""

    code: CodeType
    specs: tuple[MessageSpec, ...]
    function: str | None  # the module, if it belongs to no object
    waits: bool  # it is a coroutine function: calling it and running it are two things


class EntryPoints:
    """Finds out which code objects are entry points."""

    def __init__(self, specs: MessageSpecs, main: str | None) -> None:
        self._specs = specs
        self._main = main

    def of(self, code: CodeType, module: str, own: bool) -> EntryPoint | None:
        specs = self._specs.of(code.co_name)
        if not specs or not code.co_flags & inspect.CO_OPTIMIZED:
            return None
        if not own:  # a law must say where it is
            specs = tuple(spec for spec in specs if spec.owner.partition(".")[0] == module.partition(".")[0])
        place = module if code.co_qualname == code.co_name else None
        if place is None and self._is_static(code, module):
            place = f"{module}.{code.co_qualname.rpartition('.')[0]}"
        if place is not None:
            specs = tuple(spec for spec in specs if self._specs.is_module(spec.owner, place))
        if not specs:
            return None
        return EntryPoint(code, specs, place, bool(code.co_flags & inspect.CO_COROUTINE))

    def _is_static(self, code: CodeType, module: str) -> bool:
        found = name_resolution.resolve(f"{module}.{code.co_qualname}", self._main)
        return found is not None and isinstance(found.entry, staticmethod)

    def probed(self, plan: CodePlan | None, code: CodeType, called: Set[str]) -> CodePlan | None:
        """The plan, with probes where the code calls one of these names, or an entry point."""
        by_method = self._specs.by_method
        wanted = {name for name in code.co_names if name in called or plain(name) in by_method}
        if not wanted or plan is None:
            return plan
        known = {probe.offset for probe in plan.probes}
        try:
            more = [each for each in probes(code, _CALLS) if each.name in wanted and each.offset not in known]
        except UnknownBytecodeError:
            return plan
        return plan._replace(probes=tuple(sorted([*plan.probes, *more], key=lambda probe: probe.offset)))

    def receives(self, entry: EntryPoint, kind: type | None) -> bool:
        """Are calls of this entry point on objects of a class messages of a view?"""
        if entry.function is not None:
            return True
        return kind is not None and any(self._specs.is_class(spec.owner, kind) for spec in entry.specs)

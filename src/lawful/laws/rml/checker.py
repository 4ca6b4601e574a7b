"""What the grammar cannot say about a law: undefined names and endless recursion."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from lawful.diagnostics import Diagnostic, LawSourceError, Source, Span, did_you_mean, quoted
from lawful.laws.rml import syntax
from lawful.laws.rml.equations import calls, calls_before_events, declared, derivations, find_cycles, uses, values
from lawful.laws.rml.printer import format_data
from lawful.laws.rml.syntax import Equation, EquationCall, EventUse, Name, Specification

MAIN = "Main"
PREDEFINED = frozenset((("any", 0), ("none", 0)))


def find_errors(specification: Specification, text: str, *, name: str = "<law>") -> None:
    """Raises a `LawSourceError` with every error in a law."""
    checker = _Checker(specification, text)
    errors = [*checker.equation_errors(), *checker.event_errors()]
    if not errors:
        errors += checker.recursion_errors()
    if errors:
        raise LawSourceError(sorted(errors, key=lambda each: each.span), Source(text, name))


def _error(slug: str, message: str, span: Span, hint: str | None = None, *notes: tuple[Span, str]) -> Diagnostic:
    return Diagnostic("error", slug, message, span, hint, notes)


def arguments(count: int) -> str:
    return "no arguments" if not count else "1 argument" if count == 1 else f"{count} arguments"


def _listed(counts: Iterable[int]) -> str:
    ordered = sorted(set(counts))
    words = [str(count) if count else "no" for count in ordered]
    many = "" if ordered == [1] else "s"
    return f"{' or '.join([', '.join(words[:-1]), words[-1]] if len(words) > 1 else words)} argument{many}"


class _Checker:
    def __init__(self, specification: Specification, text: str) -> None:
        self.specification = specification
        self.text = text
        self.uses = list(uses(*specification.bodies))
        self.declared = declared(specification)
        self.equations: dict[str, Equation] = {}
        for equation in specification.equations:
            self.equations.setdefault(equation.name, equation)

    # -- errors -----------------------------------------------------------------------------------

    def equation_errors(self) -> Iterator[Diagnostic]:
        main = self.equations.get(MAIN)
        if main is None:
            close = did_you_mean(MAIN, self.equations)
            end = len(self.text.rstrip())
            place = self.equations[close].name_span if close else (end, end)
            hint = f"rename `{close}`?" if close else f"a law begins with the equation `{MAIN} = ...;`"
            yield _error("rml-no-main", f"the law has no equation `{MAIN}`", place, hint)
        elif main.params:
            hint = f"rename the equation, and call it with its arguments: `{MAIN} = Name<...>;`"
            yield _error("rml-main-parameters", f"`{MAIN}` cannot have parameters", main.name_span, hint)
        for equation in self.specification.equations:
            first = self.equations[equation.name]
            if first is not equation:
                yield _error(
                    "rml-duplicate-equation",
                    f"there are two equations for `{equation.name}`",
                    equation.name_span,
                    r"choose between two expressions with `\/`",
                    (first.name_span, "the first equation is here"),
                )
            for call in calls(equation.body):
                yield from self._call_errors(call)

    def _call_errors(self, call: EquationCall) -> Iterator[Diagnostic]:
        equation = self.equations.get(call.name)
        if equation is None:
            close = did_you_mean(call.name, self.equations)
            hint = f"did you mean `{close}`?" if close else None
            if hint is None and any(call.name.lower() == name.lower() for name, _ in self.declared):
                hint = f"did you mean the event type `{call.name.lower()}`?"
            yield _error("rml-undefined-equation", f"the equation `{call.name}` is not defined", call.span, hint)
        elif len(call.args) != len(equation.params):
            params = f"<{', '.join(equation.params)}>" if equation.params else ""
            yield _error(
                "rml-equation-arity",
                f"`{call.name}` takes {arguments(len(equation.params))}, found {len(call.args) or 'none'}",
                call.span,
                f"write `{call.name}{params}`",
                (equation.name_span, "its parameters are here"),
            )

    def event_errors(self) -> Iterator[Diagnostic]:
        for declaration in self.specification.declarations:
            if declaration.key in PREDEFINED:
                what = "matches every event" if declaration.name == "any" else "matches no event"
                yield _error(
                    "rml-predefined-event",
                    f"`{declaration.name}` is predefined: it {what}",
                    declaration.name_span,
                    "choose another name",
                )
            for use in declaration.uses:
                yield from self._use_errors(use, in_equation=False)
        for use in self.uses:
            yield from self._use_errors(use, in_equation=True)
        for cycle in find_cycles(derivations(self.specification)):
            yield self._cycle_error(
                cycle,
                "rml-cyclic-event",
                "the event type `{}` is declared in terms of itself",
                "an event type must come down to patterns such as `{name: 'open'}` in the end",
            )

    def _use_errors(self, use: EventUse, *, in_equation: bool) -> Iterator[Diagnostic]:
        known = self.declared.keys() | PREDEFINED
        if use.key in known:
            for arg in use.args:
                for value in values(arg):
                    if isinstance(value, syntax.AnyOf):
                        hint = "declare an event type for each alternative"
                        if in_equation and (use.name, 0) in known:
                            hint = f"if `{use.name}` is followed by a group, write {self._as_group(use)}"
                        message = "alternatives cannot be an argument"
                        yield _error("rml-argument-alternatives", message, value.span, hint)
                        break
            return
        arities = [arity for name, arity in known if name == use.name]
        found = arguments(len(use.args))
        if not arities:
            close = did_you_mean(use.name, (name for name, _ in known))
            hint = f"did you mean `{close}`?" if close else f"declare it: `{self._sketch(use)} matches {{...}};`"
            yield _error("rml-undeclared-event", f"no event type `{use.name}` with {found}", use.span, hint)
            return
        hint = ""
        if in_equation and 0 in arities and len(use.args) == 1:
            hint = f"if `{use.name}` is followed by a group, write {self._as_group(use)}"
        notes = [(each.name_span, "declared here") for each in self.specification.declarations if each.name == use.name]
        message = f"the event type `{use.name}` takes {_listed(arities)}, found {len(use.args) or 'none'}"
        yield _error("rml-event-arity", message, use.span, hint or None, *notes[:1])

    def _as_group(self, use: EventUse) -> str:
        return quoted(f"({use.name}) ({', '.join(map(format_data, use.args))})")

    def _sketch(self, use: EventUse) -> str:
        names = [arg.name if isinstance(arg, Name) else f"x{index}" for index, arg in enumerate(use.args, 1)]
        return use.name + (f"({', '.join(names)})" if names else "")

    def recursion_errors(self) -> Iterator[Diagnostic]:
        for cycle in find_cycles(calls_before_events(self.specification)):
            yield self._cycle_error(
                cycle,
                "rml-not-contractive",
                "the equation `{}` calls itself before any event has happened",
                "put something that cannot be empty in front of the call: `event Name`; `event? Name` and "
                "`event* Name` are not enough",
            )

    def _cycle_error(self, cycle: Sequence[EquationCall | EventUse], slug: str, message: str, hint: str) -> Diagnostic:
        names = [cycle[-1].name, *(step.name for step in cycle)]
        notes = [(step.span, f"`{name}` leads to `{step.name}`") for name, step in zip(names, cycle, strict=False)]
        message = message.format(names[0])
        if len(names) > 8:
            names = [*names[:4], "...", *names[-3:]]
        if len(cycle) > 1:
            message += f": {' -> '.join(names)}"
        return _error(slug, message, cycle[0].span, hint, *notes[1:8])

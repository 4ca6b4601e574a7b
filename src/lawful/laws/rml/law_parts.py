r"""A law that is to be judged in parts: `Main = A /\ B;`, and a comment says so."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lawful.laws.rml.compiler import flatten
from lawful.laws.rml.equations import declared, free_variables, preorder
from lawful.laws.rml.printer import format_expression
from lawful.laws.rml.syntax import And, Declaration, Equation, EquationCall, Event, Expression, Filter, Specification

# A line of its own. Strings end on their line, so that what begins a line is a comment.
_ASKED = re.compile(r"(?<![^\r\n\ufeff])[ \t\f]*//[ \t]*judged: each part alone[ \t]*(?![^\r\n])")


def asks_for_parts(text: str) -> bool:
    """Is there the line `// judged: each part alone`?"""
    return _ASKED.search(text) is not None


def parts(specification: Specification) -> Iterator[tuple[str, Specification]]:
    r"""The laws of which one is the intersection, each with the name of its equation.

    A trace is accepted if all of them accept it, and the first event that one of them rejects is the first that the
    whole rejects. There are none where that would not be so, as the operands of `Main` share variables or lead back to
    it, nor if it is a single expression without a name.
    """
    bodies = {equation.name: equation for equation in specification.equations}
    main = bodies["Main"].body
    if free_variables(specification)["Main"] or not isinstance(main, And | EquationCall):
        return
    operands = {format_expression(node): node for node in flatten(main)}  # what stands there twice is one part
    needed = [_needed(node, bodies) for node in operands.values()]
    if any("Main" in names for names in needed):
        return
    types = declared(specification)
    for number, ((text, node), names) in enumerate(zip(operands.items(), needed, strict=True), 1):
        equations = (Equation("Main", (), node), *(bodies[name] for name in names))
        yield (
            text if isinstance(node, EquationCall) else f"part {number}",
            Specification(_types(equations, types), equations),
        )


def _needed(node: Expression, bodies: dict[str, Equation]) -> list[str]:
    """The equations that an expression calls, and those that they call, in the order of the text."""
    found: dict[str, None] = {}
    pending = [node]
    while pending:
        for inner in preorder(pending.pop()):
            if isinstance(inner, EquationCall) and inner.name not in found:
                found[inner.name] = None
                pending.append(bodies[inner.name].body)
    return [name for name in bodies if name in found]


def _types(equations: tuple[Equation, ...], types: dict[tuple[str, int], list[Declaration]]) -> tuple[Declaration, ...]:
    """The declarations of the event types that equations are about."""
    pending = [node.use for each in equations for node in preorder(each.body) if isinstance(node, Event | Filter)]
    found: set[tuple[str, int]] = set()
    while pending:
        use = pending.pop()
        key = use.name, len(use.args)
        if key not in found:
            found.add(key)
            for declaration in types.get(key, ()):
                pending += declaration.body if isinstance(declaration.body, tuple) else ()
    return tuple(declaration for key, group in types.items() if key in found for declaration in group)

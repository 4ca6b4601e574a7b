r"""A law that is to be judged in parts: `Main = A /\ B;`, and a comment says so."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lawful.laws.rml.equations import call_graph, calls, declared, derivations, flatten, free_variables, reachable, uses
from lawful.laws.rml.printer import format_expression, format_spec
from lawful.laws.rml.recursion import deep
from lawful.laws.rml.syntax import AND, Equation, EquationCall, Infix, Specification

# A line of its own. Strings end on their line, so that what begins a line is a comment.
_ASKED = re.compile(r"(?<![^\r\n\ufeff])[ \t\f]*//[ \t]*judged: each part alone[ \t]*(?![^\r\n])")


@deep
def asked_parts(text: str, specification: Specification) -> list[tuple[str, str]]:
    """The names and texts of a law's parts, if it has the line `// judged: each part alone`."""
    if _ASKED.search(text) is None:
        return []
    return [(name, format_spec(part)) for name, part in _parts(specification)]


def _parts(specification: Specification) -> Iterator[tuple[str, Specification]]:
    r"""The laws whose intersection this law is, each with the name of its equation.

    A trace is accepted if all of them accept it, and the first event that one of them rejects is the first that the
    whole rejects. There are none where that would not be so, as the operands of `Main` share variables or lead back to
    it, nor if it is a single expression without a name.
    """
    bodies = {equation.name: equation for equation in specification.equations}
    main = bodies["Main"].body
    named = isinstance(main, EquationCall) or (isinstance(main, Infix) and main.op == AND)
    if free_variables(specification)["Main"] or not named:
        return
    operands = {format_expression(node): node for node in flatten(main)}  # what stands there twice is one part
    graph, derived = call_graph(specification), derivations(specification)
    needed = [reachable((call.name for call in calls(node)), graph) for node in operands.values()]
    if any("Main" in names for names in needed):
        return
    for number, ((text, node), names) in enumerate(zip(operands.items(), needed, strict=True), 1):
        equations = (Equation("Main", (), node), *(each for name, each in bodies.items() if name in names))
        types = reachable((use.key for use in uses(*(each.body for each in equations))), derived)
        declarations = tuple(each for key, group in declared(specification).items() if key in types for each in group)
        yield text if isinstance(node, EquationCall) else f"part {number}", Specification(declarations, equations)

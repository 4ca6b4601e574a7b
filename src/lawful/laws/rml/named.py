"""The patterns of events that a law names, wherever it may come to ask about them."""

from __future__ import annotations

from lawful.laws.rml import syntax
from lawful.laws.rml.compiler import CompiledLaw, Direct
from lawful.laws.rml.equations import preorder


def named(compiled: CompiledLaw, specification: syntax.Specification) -> tuple[Direct, ...]:
    """Those behind the event types that can be reached from `Main`, each once."""
    bodies = {equation.name: equation.body for equation in specification.equations}
    pending, types = [bodies.pop("Main")], set[tuple[str, int]]()
    while pending:
        for node in preorder(pending.pop()):
            if isinstance(node, syntax.Event | syntax.Filter):
                types.add((node.use.name, len(node.use.args)))
            elif isinstance(node, syntax.EquationCall) and node.name in bodies:
                pending.append(bodies.pop(node.name))
    found: dict[str, Direct] = {}
    wanted = sorted(types)
    for key in wanted:  # it grows while it is walked
        for clause in compiled.clauses[key]:
            for option in clause.options:
                if isinstance(option, Direct):
                    found.setdefault(repr(option.tree), option)  # a literal's repr tells 1, 1.0 and True apart
                elif (other := (option.name, len(option.args))) not in types:
                    types.add(other)
                    wanted.append(other)
    return tuple(found.values())

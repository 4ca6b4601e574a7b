"""Which laws need not be told of the end of objects that they have not heard of."""

from __future__ import annotations

from typing import Final

from lawful.laws.protocol import Watch
from lawful.laws.rml import syntax
from lawful.laws.rml.equations import pattern_variables, preorder

_GONE: Final = "gone"
# Kinds of events whose ids are all in fields that the engine looks at, and the fields that are no ids in disguise.
_KINDS: Final = frozenset(
    "func_pre func_post func_raise new born gone field_write field_read iter_next yield resume".split()
)
_FIELDS: Final = frozenset(
    "event name class targetId target args argIds kwargs kwargIds res resultId exception excId thread task".split()
)


def tracks_objects(specification: syntax.Specification, watches: tuple[Watch, ...] | None) -> bool:
    """Does the end of an object concern the law, by its id alone, and is the id never reckoned with?

    Then all ends of objects that it does not know are alike for it, whatever state it is in.
    """
    if watches is None or not any(_GONE in (dict(watch.keys).get("event") or ()) for watch in watches):
        return False
    return all(map(_is_plain, watches)) and not _reckons(specification)


def _is_plain(watch: Watch) -> bool:
    keys = dict(watch.keys)
    kinds = keys.get("event")
    if not kinds or not _KINDS.issuperset(map(str, kinds)) or not _FIELDS.issuperset(keys):
        return False
    return _GONE not in kinds or (
        set(kinds) == {_GONE} and keys.keys() == {"event", "targetId"} and not keys["targetId"]
    )


def _reckons(specification: syntax.Specification) -> bool:
    """Does a condition depend on a variable that events give a value to, by whatever name it has there?"""
    if any(each.guard is not None for each in specification.declarations):
        return True
    conditions: set[str] = set()
    given: set[str] = set()
    calls: list[syntax.EquationCall] = []
    for equation in specification.equations:
        for node in preorder(equation.body):
            if isinstance(node, syntax.If):
                conditions.update(pattern_variables(node.condition))
            elif isinstance(node, syntax.Event | syntax.Filter):
                given.update(name for argument in node.use.args for name in pattern_variables(argument))
            elif isinstance(node, syntax.EquationCall):
                calls.append(node)
    if not conditions:
        return False
    params = {equation.name: equation.params for equation in specification.equations}
    size = -1
    while size != len(given):
        size = len(given)
        for call in calls:
            for argument, param in zip(call.args, params[call.name], strict=True):
                if not given.isdisjoint(pattern_variables(argument)):
                    given.add(param)
    return not conditions.isdisjoint(given)

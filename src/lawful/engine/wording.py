"""Events and violations in words, for reports and for exceptions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from lawful.diagnostics import all_encodable, printable
from lawful.engine.findings import is_message, plain
from lawful.laws import catalog

if TYPE_CHECKING:
    from lawful.engine.findings import Finding
    from lawful.laws.catalog import CatalogLaw
    from lawful.laws.protocol import Expectation

_LONGEST_STRING = 60
_MOST_PARTS = 12
_DEEPEST = 4
_MOST_ARGUMENTS = 6
_ALL_READ = ".*"  # the fields that a method reads, as laws name them: `*.__hash__.*`

# Fields that every event has, or that `describe` words itself.
_SAID = frozenset(
    "event name class targetId target args argIds kwargs kwargIds res resultId exception excId".split()
    + "file line thread task time process".split()
)


def message(finding: Finding) -> str:
    """What a law has against what a running program did, in one line."""
    if finding.anomaly is not None:
        return finding.anomaly.message
    if finding.rejected_at == "end":
        wanted = expected(finding.expectation)
        return f"the program may not end here: expected {wanted}" if wanted else "the program may not end here"
    if finding.rejected_at is None:
        what = "before the program began" if finding.doomed_event is None else f"by {describe(finding.doomed_event)}"
        return f"lost {what}: nothing that follows can be accepted"
    note, about = finding.expectation.note, finding.expectation.about
    if note:  # the law says itself what is wrong
        return f"{describe(about or finding.event or {})}: {expected(finding.expectation)} was expected, but {note}"
    law = catalogued(finding)
    if law is not None:
        event = finding.event or {}
        return law.title if _is_private(str(event.get("name", ""))) else f"{law.title}: {describe(event)}"
    if finding.event is not None and finding.event.get("event") == "gone":
        return f"{describe(finding.event)}, which is not allowed yet"
    return f"{describe(finding.event or {})} is not allowed here"


def trace_message(finding: Finding, events: int) -> str:
    """What a law has against a trace of so many events, in one line."""
    if finding.rejected_at is None:
        return f"lost {doomed_place(finding)}: nothing that follows can be accepted"
    if finding.rejected_at == "end":
        what = "the trace may not end here" if events else "the trace may not be empty"
    else:
        what = f"event {finding.rejected_at} is not allowed here"
    wanted = expected(finding.expectation)
    return f"{what}: expected {wanted}" if wanted else what


def doomed_place(finding: Finding) -> str:
    return f"at event {finding.doomed_at}" if finding.doomed_at else "before the first event"


def catalogued(finding: Finding) -> CatalogLaw | None:
    """The law with its facts, if it is one of the catalogue."""
    if "/" not in finding.law:
        return None
    return catalog.load(finding.law) if finding.law in catalog.names() else None


def describe(event: dict[str, Any]) -> str:
    """An event in a few words, as `list.append(3) on object 7`."""
    kind = event.get("event")
    name = printable(_name(event))
    on = f" on {_receiver(event)}" if "targetId" in event or "target" in event else ""
    if kind == "new":
        return f"{name}{_arguments(event)} made object {short(event.get('targetId'))}"
    if kind == "gone":
        return f"{name} object {short(event.get('targetId'))} is gone"
    if kind == "field_write" and name.endswith(_ALL_READ):
        return f"a field that {name.removesuffix(_ALL_READ)} reads is written{on}"
    if kind == "field_write":
        return f"{name} = {_result(event)}{on}"
    if kind == "field_read":
        return f"{name}{on} is read: {_result(event)}"
    if kind in ("func_pre", "iter_next"):
        return f"{name}{_arguments(event)}{on}"
    if kind == "func_post":
        result = f": {_result(event)}" if "res" in event or "resultId" in event else ""
        return f"{name}{_arguments(event)}{on} returned{result}"
    if kind == "func_raise":
        exception = event.get("exception")
        return f"{name}{_arguments(event)}{on} raised{f' {printable(str(exception))}' if exception else ''}"
    if kind in ("yield", "resume"):
        return f"{name}{on} {'yields' if kind == 'yield' else 'goes on'}"
    if is_message(event) and isinstance(event.get("group"), str):
        return _message(event, name)
    rest = {key: value for key, value in event.items() if key not in _SAID}
    what = f"{printable(str(kind))} {name}".rstrip()
    return f"{what}{_arguments(event)}{on}{f' {short(rest)}' if rest else ''}"


def _message(event: dict[str, Any], name: str) -> str:
    """A message as `WorkerGroup 1 sends Job.registerItems(object 1, 41) to object 3`."""
    key = event.get("groupId")
    group = printable(event["group"]) + ("" if key is None else f" {short(key)}")
    does = "sends" if event["event"] == "send" else "receives"
    if event.get("reply") is True:
        exception = event.get("exception")
        answer = f"raised {printable(str(exception))}" if exception else _result(event)
        return f"{group} {does} the answer of {name}: {answer}"
    sent = event["event"] == "send"
    other = event.get("targetId" if sent else "callerId")
    whom = "" if other is None else f" {'to' if sent else 'from'} object {short(other)}"
    return f"{group} {does} {name}{_arguments(event)}{whom}"


def _name(event: dict[str, Any]) -> str:
    name, kind = str(event.get("name", "")), event.get("class")
    # A law may name a method of every class.
    return f"{kind}{name[1:]}" if name.startswith("*.") and isinstance(kind, str) else name


def _is_private(name: str) -> bool:
    """Is it a private name of a library?"""
    return any(part.startswith("_") and not part.endswith("__") for part in name.split("."))


def _receiver(event: dict[str, Any]) -> str:
    target = event.get("targetId")
    return short(event.get("target")) if target is None else f"object {short(target)}"


def _result(event: dict[str, Any]) -> str:
    result = event.get("resultId")
    return short(event.get("res")) if result is None else f"object {short(result)}"


def _arguments(event: dict[str, Any]) -> str:
    """In parentheses, if they were noted."""
    if "args" not in event and "kwargs" not in event:
        return ""
    parts = list(_argument_parts(event))
    return f"({', '.join(parts if len(parts) <= _MOST_ARGUMENTS else [*parts[:_MOST_ARGUMENTS], '…'])})"


def _argument_parts(event: dict[str, Any]) -> Iterator[str]:
    args, ids = event.get("args"), event.get("argIds")
    if isinstance(args, list):
        objects = ids if isinstance(ids, list) and len(ids) == len(args) else [None] * len(args)
        for value, identity in zip(args, objects, strict=True):
            yield short(value) if identity is None else f"object {short(identity)}"
    by_name, named_ids = event.get("kwargs"), event.get("kwargIds")
    if isinstance(by_name, dict):
        named = named_ids if isinstance(named_ids, dict) else {}
        for key, value in by_name.items():
            identity = named.get(key)
            yield f"{printable(str(key))}={short(value) if identity is None else f'object {short(identity)}'}"


def expected(expectation: Expectation) -> str:
    """What would have been accepted, as `read(2), close(2) or 3 others`; nothing if nothing would have been."""
    items = [printable(item) for item in expectation.expected]
    if expectation.omitted:
        items.append(count(expectation.omitted, "other"))
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} or {items[-1]}"


def count(number: int, what: str, many: str = "") -> str:
    """A number with its noun: `1 event`, `2,000 events`."""
    return f"{number:,} {what if number == 1 else many or what + 's'}"


def short(value: Any) -> str:
    """A value as compact JSON on one line that cannot steer a terminal; long strings and lists are cut."""
    return printable(msgspec.json.encode(all_encodable(shortened(value))).decode())


def cut(text: str, width: int) -> str:
    """As much of a text as fits."""
    return text if len(text) <= width else text[: width - 1] + "…"


def shortened(value: Any, depth: int = 0) -> Any:
    """A value with its long and deep parts cut."""
    if isinstance(value, str):
        return cut(value, _LONGEST_STRING)
    if isinstance(value, dict | list) and value and depth == _DEEPEST:
        return "…"
    if isinstance(value, dict):
        return {shortened(key, depth): shortened(part, depth + 1) for key, part in value.items()}
    if isinstance(value, list):
        kept = [shortened(part, depth + 1) for part in value[:_MOST_PARTS]]
        return kept if len(value) <= _MOST_PARTS else [*kept, f"… {len(value) - _MOST_PARTS} more"]
    return plain(value)

"""The machine: which message an event is, and one stack for each group."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from lawful.laws.grammar.compiled_grammar import CompiledGrammar, Ending
from lawful.laws.grammar.evaluation import Failed
from lawful.laws.grammar.steps import Frames, Stack, Steps, flat
from lawful.laws.protocol import Event

Key = int | str | None
"""What tells groups of one name apart: their `groupId`."""

_ABSENT: Any = object()
_MOST_OTHERS = 1000  # names of messages that the view does not have


class Dispatch:
    """Which terminal an event is, if any."""

    def __init__(self, compiled: CompiledGrammar, group: str | None) -> None:
        self.group = group
        self.by_name: dict[str, list[tuple[str, bool, int]]] = {}
        for number, message in enumerate(compiled.grammar.terminals):
            known = self.by_name.setdefault(message.method.text, [])
            known.append((message.direction, message.reply, number))

    def find(self, event: Event) -> int | None:
        """The terminal, or None if the event is not in the view."""
        try:
            known = self.by_name[event["name"]]
        except (KeyError, TypeError):  # no name, or none that is a text
            return None
        kind, reply = event.get("event"), event.get("reply") is True
        if self.group is not None and event.get("group") != self.group:
            return None
        for direction, of_reply, terminal in known:
            if kind == direction and reply is of_reply:
                return terminal
        return None

    def message(self, event: Event) -> tuple[str, str] | None:
        """The kind and name of a message of the group that is not in the view."""
        kind, name = event.get("event"), event.get("name")
        if kind not in ("send", "receive") or not isinstance(name, str):
            return None
        return None if self.group is not None and event.get("group") != self.group else (kind, name)


def group_key(event: Event) -> Key:
    key = event.get("groupId")
    if key is None or key.__class__ is int or key.__class__ is str:
        return key
    return json.dumps(key, sort_keys=True)


class PythonGrammarMachine:
    """All groups of a law, each with its stack. A message that has no step changes nothing."""

    def __init__(self, steps: Steps, dispatch: Dispatch, warn: Callable[[str], None]) -> None:
        self.steps = steps
        self.dispatch = dispatch
        self.failed = False
        self.at = 0  # the event of the batch that is being looked at
        self.came: set[int] = set()  # terminals
        self.others: dict[tuple[str, str], int] = {}  # messages of the group that are not in the view
        self._warn = warn
        self._start = steps.start(warn)
        self._stacks: dict[Key, Stack] = {}
        self._open = 0  # groups that may not end, whatever their values
        self._unsure: set[Key] = set()  # groups whose values decide, and have not been asked
        self._blocked: set[Key] = set()  # groups whose values forbid the end
        # The messages that were taken last, and the stacks before them: what one group sends to another is two of them.
        self._undo: list[tuple[int, Key, Any]] = []

    def feed(self, events: list[Event], start: int, stop_when_lost: bool) -> int:
        """Take events from `start` on: the position of the one that failed or lost the law, or the number of all."""
        find, steps, stacks, warn, came = self.dispatch.find, self.steps, self._stacks, self._warn, self.came
        step, start_stack, by_values = steps.step, self._start, int(Ending.BY_VALUES)
        look = stop_when_lost and steps.can_be_lost
        undo = self._undo = []
        for position in range(start, len(events)):
            event = events[position]
            terminal = find(event)
            if terminal is None:
                self._note(event)
                continue
            self.at = position
            key = group_key(event)
            old = stacks.get(key, _ABSENT)
            try:
                taken, new = step(start_stack if old is _ABSENT else old, terminal, event, warn)
            except Failed:
                taken, new = False, None
            if not taken:
                self.failed = True
                return position
            came.add(terminal)
            stacks[key] = new
            undo[:] = [*undo[-1:], (position, key, old)]
            if old is _ABSENT or old is None or new is None or old.ending != new.ending or new.ending == by_values:
                self._count(key, old, new)
            if look and steps.is_lost(new):
                return position
        return len(events)

    def undo(self, position: int) -> bool:
        """Take back the message at this place of the last batch, if it was the last that was taken: it was not sent.

        Then the one before it can be taken back, too.
        """
        if not self._undo or self._undo[-1][0] != position:
            return False
        _, key, old = self._undo.pop()
        self._count(key, self._stacks[key], None if old is _ABSENT else old)
        if old is _ABSENT:
            del self._stacks[key]
        else:
            self._stacks[key] = old
        return True

    def _note(self, event: Event) -> None:
        message = self.dispatch.message(event)
        if message is not None and (message in self.others or len(self.others) < _MOST_OTHERS):
            self.others[message] = self.others.get(message, 0) + 1

    def _count(self, key: Key, old: Any, new: Stack) -> None:
        """Keep the account of who may end."""
        before = Ending.ALWAYS if old is _ABSENT or old is None else old.ending
        after = Ending.ALWAYS if new is None else new.ending
        if before != after:
            self._open += (after == Ending.NEVER) - (before == Ending.NEVER)
        if before == Ending.BY_VALUES or after == Ending.BY_VALUES:
            self._blocked.discard(key)
            (self._unsure.add if after == Ending.BY_VALUES else self._unsure.discard)(key)

    @property
    def halts(self) -> bool:
        """May the trace end here?"""
        return not self._open and not self._judged()

    def _judged(self) -> set[Key]:
        while self._unsure:
            key = self._unsure.pop()
            if not self.steps.ends(self._stacks[key]):
                self._blocked.add(key)
        return self._blocked

    def frames(self, key: Key) -> Frames:
        """The stack of a group; of one that has not come up, where groups begin."""
        return flat(self._stacks.get(key, self._start))

    def waiting(self) -> Iterator[Key]:
        """The groups that may not end here."""
        blocked = self._judged()
        for key, stack in self._stacks.items():
            if key in blocked or (stack is not None and stack.ending == Ending.NEVER):
                yield key

    # -- out and in -------------------------------------------------------------------------------

    def dump(self) -> dict[Key, Frames]:
        """All stacks."""
        return {key: flat(stack) for key, stack in self._stacks.items()}

    def load(self, stacks: Mapping[Key, Frames], came: Iterable[int], others: Mapping[tuple[str, str], int]) -> None:
        self.came, self.others = set(came), dict(others)
        for key, frames in stacks.items():
            stack = self._stacks[key] = self.steps.stacked(frames)
            self._count(key, _ABSENT, stack)

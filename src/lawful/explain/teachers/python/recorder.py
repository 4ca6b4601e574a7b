"""Records the word of the running execution: entries, calls and emitted events become letters; cuts it off if long."""

from __future__ import annotations

import dis
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

from lawful.sources.python import emitting, names
from lawful.sources.python.scope import Scope

_MONITORED = sys.version_info >= (3, 12)
_NAME = "lawful explain"
_RESUME = dis.opmap.get("RESUME")

Key = tuple[Any, ...]
"""What an event is found by: `("entries", file, qualified name)`, `("calls", name)`, `("emits", id)`, or
`("branches", file, line, column, arm)`."""


class ExecutionCut(BaseException):
    """Ends an execution from outside. No `except Exception` of the program stops it."""


class TooLong(ExecutionCut):
    """There are more events than any word has that could be of interest."""


class TooSlow(ExecutionCut):
    """The execution did not end in its time."""


class InputRefused(ExecutionCut):
    """Nothing was executed: a class refused the arguments of its input."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)


class WordRecorder:
    """Collects the letters of one execution after the other."""

    def __init__(self) -> None:
        self.letters: dict[Key, int] = {}
        self.discovered: list[tuple[Key, str, str | None, int | None]] = []
        self.discover: Callable[[Key, str], bool] | None = None
        self.word: list[int] = []
        self.places: dict[int, tuple[CodeType, int]] = {}  # by position, where a letter has no place of its own
        self.on = False
        self._most = 0
        self._push: Callable[[int], None] = self.word.append
        os.register_at_fork(after_in_child=self._forked)

    def watch(self, keys: list[Key], discover: Callable[[Key, str], bool] | None) -> None:
        """From now on these are the letters. `discover` says which others become letters when they come up."""
        self.letters = {key: letter for letter, key in enumerate(keys)}
        self.discover = discover
        self.discovered = []

    def start(self, most: int, push: Callable[[int], None] | None = None) -> None:
        """An execution begins. `push` gets its letters too: they are known even if the process dies."""
        self.word = []
        self.places = {}
        self._most = most
        self._push = push or _nothing
        self.on = True

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Pauses recording while an input is made. If that fails, nothing is executed."""
        self.on = False
        try:
            yield
        except (ExecutionCut, MemoryError):
            raise
        except BaseException as error:
            raise InputRefused(error) from None
        self.on = True

    def _forked(self) -> None:
        self.on = False  # a process that the program forks has no part in this execution

    def letter(self, key: Key, label: str, file: str | None = None, line: int | None = None) -> int | None:
        """The letter of an event, if it is one; a new one if such events are being looked for."""
        found = self.letters.get(key)
        if found is None and self.discover is not None and self.discover(key, label):
            found = self.letters[key] = len(self.letters)
            self.discovered.append((key, label, file, line))
        return found

    def record(self, letter: int) -> None:
        """The event has happened."""
        if self.on:
            word = self.word
            word.append(letter)
            self._push(letter)
            if len(word) > self._most:
                raise TooLong

    def record_at(self, letter: int, code: CodeType, offset: int) -> None:
        """The event has happened at this instruction."""
        if self.on:
            self.places[len(self.word)] = code, offset
            self.record(letter)


class ExecutionWatch:
    """Reports events to a recorder. It is made once in a process; `begin` is called when the letters change."""

    def __init__(self, recorder: WordRecorder, scope: Scope) -> None:
        self._recorder = recorder
        self._scope = scope
        self._entries: dict[int, tuple[CodeType, int | None]] = {}  # by id: to hash code takes long
        self._own: dict[int, tuple[CodeType, bool]] = {}
        self._calls: dict[Any, int | None] = {}
        self._wants_calls = self._wants_entries = False
        self._tool()  # before the program can have taken them all
        emitting.attach(_Emitted(recorder), scope, _fail)  # type: ignore[arg-type]

    def begin(self, *, entries: bool, calls: bool) -> None:
        """The letters are known: from now on these kinds are looked at."""
        self._entries.clear()
        self._calls.clear()
        self._wants_calls, self._wants_entries = calls, entries
        self._monitor()

    def start(self) -> None:
        """An execution begins."""
        if not _MONITORED:
            if self._wants_calls:  # a profile function sees C functions too
                sys.setprofile(self._profiled)
                threading.setprofile(self._profiled)
            elif self._wants_entries:
                sys.settrace(self._traced)
                threading.settrace(self._traced)

    def stop(self) -> bool:
        """It has ended. Could it be watched until then? The program may have put an end to that."""
        if sys.version_info >= (3, 12):
            watched = self._chosen is not None and sys.monitoring.get_tool(self._chosen) == _NAME
            watched = watched and sys.monitoring.get_events(self._chosen) == self._events
            if not watched:
                self._monitor()
            return watched or not (self._wants_calls or self._wants_entries)
        watched = True
        if self._wants_calls:
            watched = sys.getprofile() == self._profiled
        elif self._wants_entries:
            watched = sys.gettrace() == self._traced
        for module in (sys, threading):  # the latter for threads that begin
            module.setprofile(None)
            module.settrace(None)
        return watched

    # -- 3.12 and later ---------------------------------------------------------------------------

    _chosen: int | None = None
    _events = 0

    def _tool(self) -> int | None:
        """Lawful's tool id of `sys.monitoring`, if there are any left."""
        if sys.version_info >= (3, 12) and (self._chosen is None or sys.monitoring.get_tool(self._chosen) != _NAME):
            free = [tool for tool in range(6) if sys.monitoring.get_tool(tool) is None]
            self._chosen = free[-1] if free else None
            if self._chosen is not None:
                sys.monitoring.use_tool_id(self._chosen, _NAME)
        return self._chosen

    def _monitor(self) -> None:
        if sys.version_info >= (3, 12):
            entries, calls, tool = self._wants_entries, self._wants_calls, self._tool()
            if tool is None:
                return
            events = sys.monitoring.events
            sys.monitoring.set_events(tool, 0)
            sys.monitoring.register_callback(tool, events.PY_START, self._started if entries else None)
            sys.monitoring.register_callback(tool, events.CALL, self._called if calls else None)
            sys.monitoring.restart_events()
            self._events = (events.PY_START if entries else 0) | (events.CALL if calls else 0)
            sys.monitoring.set_events(tool, self._events)

    def _started(self, code: CodeType, offset: int) -> Any:
        known = self._entries.get(id(code)) or self._entry(code)
        letter = known[1]
        if letter is None:
            return _disabled()
        return self._recorder.record(letter)

    def _called(self, code: CodeType, offset: int, function: object, first: object) -> Any:
        if not self._is_own(code):
            return _disabled()
        letter = self._call(function)
        return None if letter is None else self._recorder.record_at(letter, code, offset)

    # -- 3.11 -------------------------------------------------------------------------------------

    def _traced(self, frame: FrameType, event: str, argument: object) -> None:
        self._frame_started(frame)  # it returns nothing: no line of the frame is traced

    def _profiled(self, frame: FrameType, event: str, argument: object) -> None:
        if event == "c_call":
            self._called(frame.f_code, frame.f_lasti, argument, None)
        elif event == "call" and _starts(frame):
            caller = frame.f_back
            if caller is not None and self._is_own(caller.f_code):
                letter = self._call_of_python(frame)
                if letter is not None:
                    self._recorder.record_at(letter, caller.f_code, caller.f_lasti)
            if self._wants_entries:
                self._frame_started(frame)

    def _frame_started(self, frame: FrameType) -> None:
        code = frame.f_code
        known = self._entries.get(id(code)) or self._entry(code)
        if known[1] is not None and _starts(frame):
            self._recorder.record(known[1])

    def _call_of_python(self, frame: FrameType) -> int | None:
        code = frame.f_code
        name = names.code_name(code, frame.f_globals.get("__name__") or "?").removesuffix(".__init__")
        label = code.co_qualname.removesuffix(".__init__") if self._is_own(code) else name
        return self._recorder.letter(("calls", name), label)

    # -- both -------------------------------------------------------------------------------------

    def _entry(self, code: CodeType) -> tuple[CodeType, int | None]:
        letter = self._recorder.letters.get(("entries", code.co_filename, code.co_qualname))
        known = self._entries[id(code)] = code, letter
        return known

    def _is_own(self, code: CodeType) -> bool:
        known = self._own.get(id(code))
        if known is None:
            known = self._own[id(code)] = code, self._scope.own(code.co_filename)
        return known[1]

    def _call(self, function: Any) -> int | None:
        kept = type(function) in _KEPT
        if kept and function in self._calls:
            return self._calls[function]
        name = names.function_name(function) or "?"
        module = names.owner_module(function)
        file = (names.module_dict(module) or {}).get("__file__")
        own = isinstance(file, str) and self._scope.own(file)
        letter = self._recorder.letter(("calls", name), name.removeprefix(f"{module}.") if own else name)
        if kept and (letter is not None or self._recorder.discover is None):
            self._calls[function] = letter
        return letter


# What lives as long as the module it is in; a method bound to an object is made anew for each call.
_KEPT = frozenset({type(ExecutionWatch.begin), type(list.append), type})


class _Emitted:
    """Takes the place of a tracer: `lawful.emit` calls it."""

    def __init__(self, recorder: WordRecorder) -> None:
        self._recorder = recorder

    def identify(self, value: object) -> int:
        return 0

    def emit(self, event: dict[str, Any]) -> None:
        name = event["event"]
        letter = self._recorder.letter(("emits", name), name, event.get("file"), event.get("line"))
        if letter is not None:
            self._recorder.record(letter)


def _starts(frame: FrameType) -> bool:
    """Is this the beginning of a call, or does a generator go on?"""
    at = frame.f_lasti
    code = frame.f_code.co_code
    return at < 0 or code[at] != _RESUME or code[at + 1] & 3 == 0


def _fail(error: BaseException) -> None:
    raise error


def _disabled() -> Any:
    if sys.version_info >= (3, 12):
        return sys.monitoring.DISABLE
    return None


def _nothing(letter: int) -> None:
    pass


def line_of(code: CodeType, offset: int) -> int | None:
    """The line of an instruction."""
    for start, end, line in code.co_lines():
        if start <= offset < end:
            return line
    return None

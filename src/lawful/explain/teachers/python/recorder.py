"""Records the word of the running execution, and cuts off executions that take too long."""

from __future__ import annotations

import dis
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType
from typing import Any

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
    """There was no execution: a class refused the arguments of its input."""

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
        """An execution begins. `push` is given its letters too: whoever wants to know them though the process dies."""
        self.word = []
        self.places = {}
        self._most = most
        self._push = push or _nothing
        self.on = True

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Pauses recording while an input is made. If that fails, there is no execution."""
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


def _nothing(letter: int) -> None:
    pass


def opcode_at(code: CodeType, offset: int) -> str:
    """What an instruction does."""
    return dis.opname[code.co_code[offset]] if 0 <= offset < len(code.co_code) else ""


def line_of(code: CodeType, offset: int) -> int | None:
    """The line of an instruction."""
    for start, end, line in code.co_lines():
        if start <= offset < end:
            return line
    return None

"""What a violation leads to, as the program meets it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from lawful.engine.wording import message

if TYPE_CHECKING:
    from lawful.engine.findings import Finding

OnViolation = Literal["report", "raise", "stop", "count"]
AT_ONCE: Final = ("raise", "stop")  # what is to be done before the program goes on

# Kinds of events that tell of what has already happened: it is too late to raise an exception in front of it.
AFTER: Final = frozenset({"func_post", "func_raise", "new", "gone", "field_read", "yield"})


class Violation(Exception):
    """A law would be broken by what is about to happen. It has not happened."""

    __module__ = "lawful"  # where its users find it

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding)
        self.finding = finding

    def __str__(self) -> str:
        return f"{self.finding.law}: {message(self.finding)}"


class Stop(SystemExit):
    """A law was broken, and the program is to end for it: as by `sys.exit(1)`, cleaning up on the way."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(1)
        self.finding = finding

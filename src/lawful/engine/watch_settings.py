"""How a program is watched, and how a new process joins the run."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lawful.engine.violations import OnViolation
from lawful.sources.python.scope import Scope

if TYPE_CHECKING:
    from lawful.confidence.engine import Demand
    from lawful.engine.session import Session
    from lawful.laws.grammar.groups import Binding
    from lawful.laws.protocol import Law
    from lawful.learning.parameters import Learning

BUFFER = 4096
"""Events that are gathered before they are judged, if the clock does not come first."""


@dataclass(frozen=True)
class WatchSettings:
    """What to watch, and how. They can be pickled, for child processes."""

    scope: Scope = field(default_factory=Scope)
    main: str | None = None  # the name that laws may use for the main module
    trace: str | None = None
    history: int = 10
    on_violation: OnViolation = "report"
    buffer: int = BUFFER
    drop: bool = False  # events that find the buffer full, rather than let the program wait
    core: str | None = None
    judge: bool = True  # or only see what the laws can match
    refers: bool = False  # messages to the first process, which sees all of them and judges
    learn: Learning | None = None  # learn rules, this way
    tests: bool = False  # the program is a session of tests: errors that these ask for are meant
    ignore: tuple[str, ...] = ()  # laws, or `law: files`, of which nobody wants to hear
    demand: Demand | None = None  # the confidence to reach by sampling objects; None: watch all objects
    groups: tuple[tuple[str, tuple[Binding, ...]], ...] = ()  # what groups are, in place of what views say
    messages: int = 0  # of a group before it broke a view that are kept, for diagrams

    @property
    def at_once(self) -> bool:
        """Is each event judged before the program goes on?"""
        return self.on_violation in ("raise", "stop")


@dataclass(frozen=True)
class JoinToken:
    """A child process joins the run when it unpickles this."""

    settings: WatchSettings
    laws: tuple[Law, ...]
    folder: str
    began: float

    def __reduce__(self) -> tuple[object, ...]:
        return arrive, (self.settings, self.laws, self.folder, self.began)

    def to_file(self) -> str:
        """Write the token to the run's folder, for processes that somebody else starts.

        These see only a part, so they judge nothing. Before a message that may have to be stopped, they ask.
        """
        import pickle  # a program without such children must not wait for it

        settings = self.settings
        refers = settings.judge or settings.refers
        path = os.path.join(self.folder, "join_token")
        with open(path, "wb") as file:
            file.write(pickle.dumps(replace(self, settings=replace(settings, judge=False, refers=refers))))
        return path


_arrived: Session | None = None


def arrive(settings: WatchSettings, laws: tuple[Law, ...], folder: str, began: float) -> str:
    """In a new process: join the run. An error here must not reach the program."""
    global _arrived
    try:
        from lawful.engine.session import Session

        session = Session(settings, laws, joins=True)
        if session.arrive(folder, began):
            _arrived = session
    except Exception:
        if os.environ.get("LAWFUL_DEBUG") == "1":
            import traceback

            traceback.print_exc()
    return "lawful"

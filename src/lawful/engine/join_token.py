"""What a process needs to join a run, if it does not share the memory of one that is in it."""

from __future__ import annotations

import os
import pickle
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lawful.engine.session import Session
    from lawful.engine.watch_settings import WatchSettings
    from lawful.laws.protocol import Law


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
        """The same in the run's folder, for processes that somebody else starts.

        They judge nothing: they see a part only. Where a message may have to be stopped, they ask.
        """
        settings = self.settings
        refers = settings.judge or settings.refers
        path = os.path.join(self.folder, "join_token")
        with open(path, "wb") as file:
            file.write(pickle.dumps(replace(self, settings=replace(settings, judge=False, refers=refers))))
        return path


_arrived: Session | None = None


def arrive(settings: WatchSettings, laws: tuple[Law, ...], folder: str, began: float) -> str:
    """In a new process: join the run. Whatever goes wrong here must not be the program's trouble."""
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

"""Who looks on while a program runs under watch."""

from __future__ import annotations

from typing import Protocol


class ObserverHook(Protocol):
    """Somebody who looks on while the program runs: the dashboard. Called on a thread of ours; it must never wait."""

    def beat(self) -> None:
        """Ten times a second."""
        ...

    def end(self) -> None:
        """The run is over, and all is in the report."""
        ...

    def after_fork_in_child(self) -> None:
        """This process is a child now, which nobody looks at."""
        ...

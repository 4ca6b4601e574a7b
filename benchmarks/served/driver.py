"""Runs `lawful` with a meter in the process that it watches."""

from __future__ import annotations

import sys

import meter

from lawful.cli.main import main
from lawful.engine.session import Session

_start = Session.start


def _started(session: Session) -> None:
    meter.take(session)
    _start(session)


if __name__ == "__main__":
    Session.start = _started  # type: ignore[method-assign]
    sys.argv[0] = "lawful"
    main()

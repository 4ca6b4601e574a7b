"""Other laws for a program that runs."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from lawful.errors import LawfulError
from lawful.pristine_os import clock
from lawful.sources.python import emitting

if TYPE_CHECKING:
    from lawful.engine.session import Session
    from lawful.laws.protocol import Law


def change_laws(session: Session, add: Sequence[Law] = (), remove: str | None = None) -> None:
    """Judge by other laws from now on, on a thread of ours.

    Another tracer takes over, which looks anew; what happens in the moment between the two is not seen, and the report
    says so.
    """
    _allow(session)
    live, scope = session.live, session.settings.scope
    emitting.detach(session.tracer)
    began = clock.monotonic()
    for text in session.setup.warnings:
        live.warn(text)
    session.trace_for((*(law for law in session.laws if law.name != remove), *add))
    if remove is not None:
        live.remove(remove)
    live.add(add)
    session.tracer.start()
    emitting.attach(session.tracer, scope, session.fail)
    blind = (clock.monotonic() - began) * 1000
    live.warn(f"laws were changed while the program ran: for {blind:.0f} ms it was not watched")


def _allow(session: Session) -> None:
    if session.sampler is not None:
        raise LawfulError(
            "control-sampling",
            "laws cannot be added or removed while objects are sampled",
            hint="pause the law, or begin another run",
        )
    if session.core.name == "python" and sys.version_info < (3, 12):
        raise LawfulError(
            "control-core",
            "laws cannot be added or removed by the pure-Python core on CPython 3.11",
            hint="another tracer would not see threads that run already; build the C core, or use a newer Python",
        )
    if session.finished or session.live.fault is not None:
        raise LawfulError("control-over", "the program is not watched any more")

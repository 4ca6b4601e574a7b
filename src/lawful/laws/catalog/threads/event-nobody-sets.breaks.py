"""The only thread waits for an event that it should have set itself. A signal puts an end to it."""

import contextlib
import signal
import threading


def interrupt(number: int, frame: object) -> None:
    raise InterruptedError


signal.signal(signal.SIGALRM, interrupt)
done = threading.Event()
signal.setitimer(signal.ITIMER_REAL, 0.05)
with contextlib.suppress(InterruptedError):
    done.wait()  # violation

done.set()
done.clear()
signal.setitimer(signal.ITIMER_REAL, 0.05)
with contextlib.suppress(InterruptedError):
    done.wait()  # violation

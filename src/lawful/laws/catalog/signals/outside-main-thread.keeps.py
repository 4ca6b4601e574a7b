"""Handlers are set in the main thread and asked for in others."""

import signal
import threading

received: list[int] = []
before = signal.signal(signal.SIGUSR1, lambda number, _: received.append(number))
thread = threading.Thread(target=signal.raise_signal, args=(signal.SIGUSR1,))
thread.start()
thread.join()
handlers: list[object] = []
thread = threading.Thread(target=lambda: handlers.append(signal.getsignal(signal.SIGUSR1)))
thread.start()
thread.join()
assert len(handlers) == 1
signal.signal(signal.SIGUSR1, before)
assert received == [signal.SIGUSR1]

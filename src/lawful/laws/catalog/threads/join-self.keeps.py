"""Threads wait for each other, and one asks who it is before it waits."""

import threading
from contextlib import suppress

threads: list[threading.Thread] = []


def work() -> None:
    for thread in threads:
        if thread is not threading.current_thread() and thread.ident:
            thread.join(0.001)


threads += [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()


def cleanup() -> None:
    for thread in (*threads, threading.current_thread()):
        if thread.is_alive() and thread is not threading.current_thread():
            thread.join()


with suppress(LookupError):
    cleanup()

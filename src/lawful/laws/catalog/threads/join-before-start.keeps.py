"""Threads are joined after they were started: more than once, by another thread, with a timeout."""

import threading

go = threading.Event()
first = threading.Thread(target=go.wait)
second = threading.Thread(target=first.join)
unused = threading.Thread(target=go.wait)
first.start()
second.start()
first.join(timeout=0.001)
go.set()
for thread in (second, first, first):
    thread.join()
assert not unused.is_alive()
del unused

"""Threads, also of subclasses, are started once each."""

import threading


class Worker(threading.Thread):
    done = False

    def start(self) -> None:
        super().start()

    def run(self) -> None:
        self.done = True


for _ in range(3):
    worker = Worker()
    worker.start()
    worker.join()
    assert worker.done

timer = threading.Timer(0, print, args=("on time",))
timer.start()
timer.join()

"""Watches folders for changes, more of them while it runs, and lets some go again."""

import os
import tempfile
import time

from watchdog.events import FileSystemEventHandler
from watchdog.observers.polling import PollingObserver


class Counter(FileSystemEventHandler):
    seen = 0

    def on_any_event(self, event):
        self.seen += 1


def main():
    counter = Counter()
    for _ in range(6):
        with tempfile.TemporaryDirectory() as top:
            folders = [os.path.join(top, f"folder{number}") for number in range(6)]
            for folder in folders:
                os.mkdir(folder)
            observer = PollingObserver(timeout=0.02)
            watches = [observer.schedule(counter, folder) for folder in folders[:4]]
            observer.start()
            watches += [observer.schedule(counter, folder, recursive=True) for folder in folders[4:]]
            time.sleep(0.05)
            for folder in folders:
                with open(os.path.join(folder, "new.txt"), "w") as file:
                    file.write(folder)
            time.sleep(0.06)
            observer.unschedule(watches[1])
            time.sleep(0.03)
            observer.stop()
            observer.join()
    print(counter.seen > 0)


if __name__ == "__main__":
    main()

"""Each thread has its connection; one may be shared and says so."""

import sqlite3
import threading


def work() -> None:
    connection = sqlite3.connect(":memory:")
    assert connection.execute("select 1").fetchone() == (1,)
    connection.close()
    with lock:
        assert shared.execute("select 2").fetchone() == (2,)


lock = threading.Lock()
shared = sqlite3.connect(":memory:", check_same_thread=False)
work()
threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
shared.close()

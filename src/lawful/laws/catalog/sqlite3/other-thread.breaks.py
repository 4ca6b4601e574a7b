"""A thread uses the connection of another."""

import sqlite3
import threading
from contextlib import suppress

connection = sqlite3.connect(":memory:")


def work() -> None:
    with suppress(sqlite3.ProgrammingError):
        connection.execute("select 1")  # violation


thread = threading.Thread(target=work)
thread.start()
thread.join()
connection.close()

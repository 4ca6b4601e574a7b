"""Rows are fetched, and a cursor is closed, after the connection was."""

import sqlite3
from contextlib import suppress

connection = sqlite3.connect(":memory:")
rows = connection.execute("select 1 union select 2")
cursor = connection.cursor()
connection.close()
with suppress(sqlite3.ProgrammingError):
    rows.fetchall()  # violation
with suppress(sqlite3.ProgrammingError):
    for _row in rows:  # violation
        pass
with suppress(sqlite3.ProgrammingError):
    cursor.close()  # violation

"""A connection is used after it was closed; its own `with` block fails when it is closed inside."""

import sqlite3
from contextlib import suppress

connection = sqlite3.connect(":memory:")
connection.close()
with suppress(sqlite3.ProgrammingError):
    connection.execute("select 1")  # violation

connection = sqlite3.connect(":memory:")
with suppress(sqlite3.ProgrammingError), connection:  # violation
    connection.execute("create table t (x)")
    connection.close()

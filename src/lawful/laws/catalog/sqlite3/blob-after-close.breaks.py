"""A blob is read after it was closed."""

import contextlib
import sqlite3
from contextlib import suppress

with contextlib.closing(sqlite3.connect(":memory:")) as connection:
    connection.execute("create table t (data)")
    connection.execute("insert into t values (zeroblob(4))")
    with connection.blobopen("t", "data", 1) as blob:
        blob.write(b"one")
    with suppress(sqlite3.ProgrammingError):
        blob.read()  # violation
    connection.commit()

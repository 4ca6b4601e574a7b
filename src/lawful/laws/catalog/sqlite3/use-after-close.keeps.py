"""Connections are closed last; `with` on a connection commits and does not close."""

import contextlib
import sqlite3
from contextlib import suppress

connection = sqlite3.connect(":memory:")
with connection:
    connection.execute("create table t (x)")
with suppress(LookupError), connection:
    connection.execute("insert into t values (1)")
    raise LookupError
assert connection.execute("select count(*) from t").fetchone() == (0,)
connection.close()
connection.close()

with contextlib.closing(sqlite3.connect(":memory:")) as connection:
    assert connection.execute("select 1").fetchone() == (1,)

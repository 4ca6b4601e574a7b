"""Cursors are used while their connection is open, also beside another one that is closed."""

import sqlite3

first = sqlite3.connect(":memory:")
second = sqlite3.connect(":memory:")
one, two = first.cursor(), second.cursor()
one.execute("create table t (x)")
one.executemany("insert into t values (?)", [(1,), (2,)])
second.close()
rows = one.execute("select x from t")
assert rows is one
assert next(rows) == (1,)
for row in rows:
    assert row == (2,)
assert one.fetchall() == []
one.close()
first.close()

first = sqlite3.connect(":memory:")
one = first.cursor()
assert one.execute("select 1").fetchone() == (1,)
first.close()
assert one.description[0][0] == "1"

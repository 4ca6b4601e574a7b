"""Changes are committed, rolled back or made where they commit themselves; memory has nothing to lose."""

import os
import sqlite3
import tempfile
from enum import StrEnum


class Query(StrEnum):
    COUNT = "select count(*) from t"


with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "a.db")
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("create table t (x)")
        connection.execute("insert into t values (1)")
    connection.execute("INSERT INTO t VALUES (2)")
    connection.commit()
    cursor = connection.cursor()
    cursor.execute("delete from t")
    connection.rollback()
    cursor.execute("update t set x = 3")
    connection.execute("commit")
    assert cursor.execute("select count(*) from t").fetchone() == (2,)
    assert cursor.execute(Query.COUNT).fetchone() == connection.execute(Query.COUNT).fetchone()
    connection.close()

    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("delete from t")
    connection.close()

connection = sqlite3.connect(":memory:")
connection.execute("create table t (x)")
connection.execute("insert into t values (1)")
connection.close()

"""The commit is forgotten."""

import os
import sqlite3
import tempfile

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "a.db")
    connection = sqlite3.connect(path)
    connection.execute("create table t (x)")
    connection.execute("insert into t values (1)")
    connection.close()  # violation

    connection = sqlite3.connect(path)
    cursor = connection.cursor()
    cursor.execute("INSERT INTO t VALUES (2)")
    connection.close()  # violation

    connection = sqlite3.connect(path)
    assert connection.execute("select count(*) from t").fetchone() == (0,)
    connection.close()

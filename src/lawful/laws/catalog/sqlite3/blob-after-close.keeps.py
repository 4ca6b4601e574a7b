"""Blobs are used while they are open, and closed twice."""

import contextlib
import sqlite3

with contextlib.closing(sqlite3.connect(":memory:")) as connection:
    connection.execute("create table t (data)")
    connection.execute("insert into t values (zeroblob(4))")
    for text in (b"one", b"two"):
        with connection.blobopen("t", "data", 1) as blob:
            blob.write(text)
            blob.seek(0)
            assert blob.read(3) == text
        blob.close()
    connection.commit()

"""Positions are asked for between calls of `readline`, before and after loops, and in binary files."""

import os
import tempfile

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "a.txt")
    with open(path, "w") as file:
        file.write("one\ntwo\n")
    with open(path) as file:
        assert file.tell() == 0
        while file.readline():
            assert file.tell() in (4, 8)
        for _ in file:
            pass
        assert file.tell() == 8
    with open(path, "rb") as binary:
        for _ in binary:
            assert binary.tell() in (4, 8)

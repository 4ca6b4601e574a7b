"""Compressed files are written, read back and closed twice; the file below is still open."""

import bz2
import gzip
import io
import lzma

raw = io.BytesIO()
with gzip.open(raw, "wb") as file:
    file.write(b"one")
file.close()
assert file.closed
raw.seek(0)
with gzip.open(raw) as file:
    assert file.read() == b"one"

for kind in (bz2.BZ2File, lzma.LZMAFile):
    raw = io.BytesIO()
    with kind(raw, "w") as file:
        file.write(b"two")
    raw.seek(0)
    with kind(raw) as file:
        assert file.readline() == b"two"
        assert file.tell() == 3

"""Compressed files are read and written after they were closed."""

import gzip
import io
import lzma
from contextlib import suppress

raw = io.BytesIO()
with gzip.open(raw, "wb") as file:
    file.write(b"one")
with suppress(ValueError):
    file.write(b"two")  # violation

packed = lzma.LZMAFile(io.BytesIO(lzma.compress(b"one")))  # noqa: SIM115
packed.close()
with suppress(ValueError):
    packed.read()  # violation

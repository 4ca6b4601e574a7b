"""Descriptors are closed once each; a number comes again for another file; one was never open."""

import os
from contextlib import suppress

for _ in range(2):
    reader, writer = os.pipe()
    os.close(writer)
    os.close(reader)
with suppress(OSError):
    os.close(99999)
with os.fdopen(os.open(os.devnull, os.O_RDONLY)) as file:
    assert file.read() == ""

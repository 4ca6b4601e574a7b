"""Temporary files are made, and not only their names."""

import os
import tempfile

with tempfile.NamedTemporaryFile() as file:
    file.write(b"one")
with tempfile.TemporaryFile() as file:
    file.write(b"two")
handle, name = tempfile.mkstemp()
os.close(handle)
os.remove(name)

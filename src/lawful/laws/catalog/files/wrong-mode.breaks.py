"""A file is written that was opened for reading, and read that was opened for writing."""

import io
import os
import tempfile
from contextlib import suppress

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "a.txt")
    with open(path, "w") as file, suppress(io.UnsupportedOperation):
        file.read()  # violation
    with open(path) as file, suppress(io.UnsupportedOperation):
        file.write("one")  # violation
    with open(path, "wb") as binary, suppress(io.UnsupportedOperation):
        binary.read()  # violation

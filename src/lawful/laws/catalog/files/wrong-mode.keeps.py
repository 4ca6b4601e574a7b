"""Files are opened for what is done with them; what a stream cannot do is tried out or asked for."""

import io
import os
import tempfile
from contextlib import suppress

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "a.txt")
    with open(path, "w+") as file:
        file.write("one")
        file.seek(0)
        assert file.read() == "one"
    with open(path, "rb") as binary:
        assert binary.read() == b"one"
        assert not binary.writable()
with suppress(io.UnsupportedOperation):
    io.StringIO().fileno()

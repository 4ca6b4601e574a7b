"""A loop over a file wants to know where it is."""

import os
import tempfile
from contextlib import suppress

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "a.txt")
    with open(path, "w") as file:
        file.write("one\ntwo\n")
    with open(path) as file:
        for _line in file:
            with suppress(OSError):
                file.tell()  # violation

"""Files are used after they were closed: by `close`, and by the end of a `with` block, also by an exception."""

import io
import os
import tempfile
from contextlib import suppress

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "a.txt")
    with open(path, "w") as file:
        file.write("one\n")
    with suppress(ValueError):
        file.write("two\n")  # violation

    with suppress(LookupError), open(path, "rb") as binary:
        raise LookupError
    with suppress(ValueError):
        binary.read()  # violation

memory = io.StringIO("text")
memory.close()
with suppress(ValueError):
    for _line in memory:  # violation
        pass
with suppress(ValueError):
    memory.getvalue()  # violation

"""It is asked for a file before it is opened, and for a folder before it is made."""

import os
import tempfile
from pathlib import Path

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "a.txt")
    if not os.path.exists(path):
        with open(path, "w") as file:  # violation
            file.write("one")
    sub = Path(folder, "sub")
    if not sub.exists():
        sub.mkdir()  # violation

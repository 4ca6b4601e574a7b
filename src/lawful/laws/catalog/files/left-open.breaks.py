"""A file is opened, used and forgotten."""

import os
import tempfile
import warnings

warnings.simplefilter("ignore", ResourceWarning)


def text(path: str) -> str:
    return open(path).read()  # violation


with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "a.txt")
    with open(path, "w") as file:
        file.write("one\n")
    assert text(path) == "one\n"

"""A name is made up, and then a file."""

import os
import tempfile

name = tempfile.mktemp()  # violation
with open(name, "x") as file:
    file.write("one")
os.remove(name)

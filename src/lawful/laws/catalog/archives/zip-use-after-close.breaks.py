"""An archive is read and written after it was closed."""

import io
import zipfile
from contextlib import suppress

file = io.BytesIO()
with zipfile.ZipFile(file, "w") as archive:
    archive.writestr("a.txt", "one")
with suppress(ValueError):
    archive.writestr("b.txt", "two")  # violation

archive = zipfile.ZipFile(file)
archive.close()
with suppress(ValueError):
    archive.read("a.txt")  # violation

"""Archives are closed by `with`, by hand and after an exception; one is only read and forgotten."""

import io
import zipfile
from contextlib import suppress

file = io.BytesIO()
with zipfile.ZipFile(file, "w") as archive:
    archive.writestr("a.txt", "one")
    archive.writestr("b.txt", "two")

archive = zipfile.ZipFile(io.BytesIO(), "w")
archive.writestr("a.txt", "one")
archive.close()

with suppress(LookupError), zipfile.ZipFile(io.BytesIO(), "w") as archive:
    archive.writestr("a.txt", "one")
    raise LookupError

archive = zipfile.ZipFile(file)
assert archive.namelist() == ["a.txt", "b.txt"]
del archive

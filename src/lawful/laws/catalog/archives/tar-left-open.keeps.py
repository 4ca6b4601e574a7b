"""Archives are closed by `with`, by hand and after an exception; one is only read and forgotten."""

import io
import tarfile
from contextlib import suppress

file = io.BytesIO()
with tarfile.open(fileobj=file, mode="w") as archive:
    archive.addfile(tarfile.TarInfo("a.txt"))
    archive.addfile(tarfile.TarInfo("b.txt"))

archive = tarfile.open(fileobj=io.BytesIO(), mode="w")  # noqa: SIM115
archive.addfile(tarfile.TarInfo("a.txt"))
archive.close()

with suppress(LookupError), tarfile.open(fileobj=io.BytesIO(), mode="w") as archive:
    archive.addfile(tarfile.TarInfo("a.txt"))
    raise LookupError

file.seek(0)
archive = tarfile.open(fileobj=file)  # noqa: SIM115
assert archive.getnames() == ["a.txt", "b.txt"]
del archive

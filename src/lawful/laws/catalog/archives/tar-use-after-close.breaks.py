"""An archive is written to and listed after it was closed."""

import io
import tarfile
from contextlib import suppress

file = io.BytesIO()
with tarfile.open(fileobj=file, mode="w") as archive:
    archive.addfile(tarfile.TarInfo("a.txt"))
with suppress(OSError):
    archive.addfile(tarfile.TarInfo("b.txt"))  # violation

file.seek(0)
archive = tarfile.open(fileobj=file)  # noqa: SIM115
archive.close()
with suppress(OSError):
    archive.getnames()  # violation

"""An archive is written and forgotten."""

import io
import zipfile


def pack(file: io.BytesIO) -> None:
    archive = zipfile.ZipFile(file, "w")
    archive.writestr("a.txt", "one")  # violation
    archive.writestr("b.txt", "two")


pack(io.BytesIO())

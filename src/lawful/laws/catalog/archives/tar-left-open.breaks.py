"""An archive is written and forgotten."""

import io
import tarfile


def pack(file: io.BytesIO) -> None:
    archive = tarfile.open(fileobj=file, mode="w")  # noqa: SIM115
    archive.addfile(tarfile.TarInfo("a.txt"))  # violation


file = io.BytesIO()
pack(file)
assert len(file.getvalue()) == tarfile.BLOCKSIZE

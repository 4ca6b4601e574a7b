"""An archive is written, listed and read while it is open; a member that was opened before is read on."""

import io
import tarfile

file = io.BytesIO()
with tarfile.open(fileobj=file, mode="w") as archive:
    archive.addfile(tarfile.TarInfo("a.txt"))
archive.close()

file.seek(0)
archive = tarfile.open(fileobj=file)  # noqa: SIM115
assert archive.getnames() == ["a.txt"]
member = archive.extractfile("a.txt")
archive.close()
assert [each.name for each in archive] == ["a.txt"]
assert member is not None
assert member.read() == b""

"""An archive is written and read while it is open; its list of names, and a member opened before, work on."""

import io
import zipfile

file = io.BytesIO()
with zipfile.ZipFile(file, "w") as archive:
    archive.writestr("a.txt", "one")
with zipfile.ZipFile(file, "a") as archive:
    archive.writestr("b.txt", "two")

archive = zipfile.ZipFile(file)
assert archive.read("a.txt") == b"one"
member = archive.open("b.txt")
archive.close()
archive.close()
assert member.read() == b"two"
member.close()
assert archive.namelist() == ["a.txt", "b.txt"]

"""Files are used while they are open: opened again, closed twice, left by an exception, kept open by a subclass."""

import io
import os
import tempfile
from contextlib import suppress


class Kept(io.StringIO):
    """Its text can still be read after `with`: `close` does not close."""

    def close(self) -> None:
        self.seek(0)


with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "a.txt")
    with open(path, "w") as file:
        file.write("one\ntwo\n")
    file.close()

    with suppress(LookupError), open(path) as file:
        raise LookupError(file.readline())
    for _ in range(2):
        with open(path) as file:
            assert [line.strip() for line in file] == ["one", "two"]
        assert file.closed

    binary = open(path, "rb")  # noqa: SIM115
    assert binary.read1(3) == b"one"
    binary.close()

kept = Kept()
with kept:
    kept.write("text")
assert kept.getvalue() == "text"

with io.StringIO():
    pass
io.BytesIO().close()

memory = io.BytesIO(b"data")
with memory.getbuffer() as view:
    with suppress(BufferError):
        memory.close()
    assert memory.read() == view
memory.close()

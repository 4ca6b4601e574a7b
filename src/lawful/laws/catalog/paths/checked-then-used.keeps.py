"""Files are tried, made where there is none, and removed if they are there; another one is asked for."""

import os
import tempfile
from contextlib import suppress
from pathlib import Path

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "a.txt")
    with suppress(FileExistsError), open(path, "x") as file:
        file.write("one")
    assert os.path.exists(folder)
    os.remove(path)
    Path(path).unlink(missing_ok=True)
    os.makedirs(os.path.join(folder, "sub"), exist_ok=True)
    assert Path(folder, "sub").is_dir()
    Path(path).write_text("two")

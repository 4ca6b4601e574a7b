"""Every file is closed: by `with`, by hand, by a context manager of the library; one lives as long as the program."""

import contextlib
import io
import os
import tempfile


def first_line(path: str) -> str:
    file = open(path)  # noqa: SIM115
    try:
        return file.readline()
    finally:
        file.close()


def all_text(path: str) -> str:
    with contextlib.ExitStack() as stack:
        return stack.enter_context(open(path)).read()


def raw_text(path: str) -> str:
    with contextlib.closing(open(path, "rb")) as file:
        return file.read().decode()


def wrapped_text(path: str) -> str:
    with io.TextIOWrapper(open(path, "rb")) as file:
        return file.read()


with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "a.txt")
    with open(path, "w") as file:
        file.write("one\n")
    del file
    with open(path):
        pass
    open(path).close()
    assert first_line(path) == all_text(path) == raw_text(path) == wrapped_text(path) == "one\n"

log = open(os.devnull, "w")  # noqa: SIM115
log.write("until the end\n")

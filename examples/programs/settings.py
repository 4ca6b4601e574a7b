"""Reads its settings twice, the second time from a file that is closed by then."""

import io


def first_line(file: io.StringIO) -> str:
    with file:
        return file.readline().strip()


file = io.StringIO("colour = green\nsize = 3\n")
print(first_line(file))
try:
    print(first_line(file))
except ValueError as error:
    print("no more:", error)

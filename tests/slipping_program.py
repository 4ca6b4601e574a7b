"""A program for learners: three functions close what they have opened, and one does not, in line 19."""

from __future__ import annotations

_CLOSES = """
def {name}():
    file = io.StringIO("a")
    file.read()
    file.close()
"""
SLIPPING = (
    "".join(_CLOSES.format(name=name) for name in ("one", "two", "three"))
    + """
def slips():
    file = io.StringIO("a")
    file.read()
"""
)

"""The program that is shown: it uses objects of some classes, and files, by a protocol that it breaks now and then."""

from __future__ import annotations

from pathlib import Path

_CLASS = """
class Account{number}:
    def open(self): pass
    def use(self): pass
    def close(self): pass
"""

_WORK = """
KINDS = [{kinds}]

def step(n):
    a = KINDS[n % len(KINDS)]()
    a.open()
    a.use()
    if n % 1009:
        a.close()
    f = io.StringIO("x")
    f.read()
    f.close()
    return sum(i * i for i in range(50))

meter.main(step)
"""


def write(folder: Path, classes: int) -> str:
    """Write it with so many classes; its module's name."""
    name = f"accounts{classes}"
    numbers = range(classes)
    kinds = ", ".join(f"Account{number}" for number in numbers)
    text = "import io, meter\n" + "".join(_CLASS.format(number=number) for number in numbers)
    (folder / f"{name}.py").write_text(text + _WORK.format(kinds=kinds), encoding="utf-8")
    return name

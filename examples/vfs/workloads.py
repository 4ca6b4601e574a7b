"""What the file system is used for: a tree that is made, walked and deleted, and a build that mostly computes."""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Callable
from random import Random

from vfs import Vfs

# -- the micro-benchmark -----------------------------------------------------------------------------------------------


def tree(vfs: Vfs, top: str, *, depth: int = 5, width: int = 4) -> int:
    """Makes a tree of directories, walks it depth first, and deletes it. Returns how many directories there were."""
    top = posixpath.join(top, "tree")
    grow(vfs, top, depth, width)
    # A directory with an entry of this name wants to be left out. None has, so each costs a look in vain.
    paths = [path for path, _, _ in vfs.walk(top, unless=".nowalk")]
    for path in reversed(paths):
        vfs.rmdir(path)
    return len(paths)


def grow(vfs: Vfs, path: str, depth: int, width: int) -> None:
    vfs.mkdir(path)
    if depth:
        for number in range(width):
            grow(vfs, f"{path}/{number}", depth - 1, width)


# -- the build ---------------------------------------------------------------------------------------------------------

FOLDERS = ("include/system", "include/vendor", "include/local")  # searched in this order
HEADERS = 12


def prepare(vfs: Vfs, top: str, *, files: int = 60, seed: int = 1) -> None:
    """Source files in Python, and the headers that they include. The same seed makes the same files."""
    random = Random(seed)
    for folder in ("include", *FOLDERS, "src"):
        vfs.mkdir(posixpath.join(top, folder))
    for number in range(HEADERS):
        folder = FOLDERS[number % len(FOLDERS)]
        save(vfs, f"{top}/{folder}/h{number}.py", f"SIZE_{number} = {random.randrange(1, 100)}\n")
    for number in range(files):
        save(vfs, f"{top}/src/m{number}.py", source(random))


def source(random: Random) -> str:
    includes = "".join(f"# include h{random.randrange(HEADERS)}.py\n" for _ in range(4))
    return includes + "\n".join(function(random, number) for number in range(6))


def function(random: Random, number: int) -> str:
    one, two, three = (random.randrange(1, 1000) for _ in range(3))
    size = f"SIZE_{random.randrange(HEADERS)}"
    return f"""
def work_{number}(items, limit={one} * {two}):
    total = {three} + {one} - {two}
    for index, item in enumerate(items):
        if item % ({three} + 2 * {one}) < limit and index < {size}:
            total += item * ({two} - 1)
        else:
            total -= index + ({one} * {one} + {two})
    return total, {{"limit": limit, "size": {size}}}
"""


def build(vfs: Vfs, top: str) -> int:
    """Compiles all files of `src`, links what comes out, and deletes it. Returns the number of files."""
    out = posixpath.join(top, "out")
    vfs.mkdir(out)
    names = sorted(vfs.listdir(f"{top}/src"))
    for name in names:
        compiled = translated(vfs, top, load(vfs, f"{top}/src/{name}"))
        # A half-written file must never have the final name.
        save(vfs, f"{out}/{name}.part", compiled)
        vfs.rename(f"{out}/{name}.part", f"{out}/{name}")
    save(vfs, f"{out}/program", "\n".join(load(vfs, f"{out}/{name}") for name in names))
    compile(load(vfs, f"{out}/program"), "program", "exec")
    for name in vfs.listdir(out):
        vfs.unlink(f"{out}/{name}")
    vfs.rmdir(out)
    return len(names)


def translated(vfs: Vfs, top: str, text: str) -> str:
    included = [line.removeprefix("# include ") for line in text.splitlines() if line.startswith("# include ")]
    sizes: dict[str, int] = {}
    for name in included:
        for statement in ast.parse(load(vfs, search(vfs, top, name))).body:
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                sizes[statement.targets[0].id] = ast.literal_eval(statement.value)
    return ast.unparse(ast.fix_missing_locations(Folding(sizes).visit(ast.parse(text))))


def search(vfs: Vfs, top: str, name: str) -> str:
    for folder in FOLDERS:
        if vfs.exists(path := f"{top}/{folder}/{name}"):
            return path
    raise FileNotFoundError(name)


OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
}


class Folding(ast.NodeTransformer):
    """Puts in what is known of names, and computes what is constant."""

    def __init__(self, sizes: dict[str, int]) -> None:
        self._sizes = sizes

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Constant(self._sizes[node.id]) if node.id in self._sizes else node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        left, right = constant(node.left), constant(node.right)
        if left is None or right is None or type(node.op) not in OPERATORS:
            return node
        return ast.Constant(OPERATORS[type(node.op)](left, right))


def constant(node: ast.expr) -> int | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, int) else None


def load(vfs: Vfs, path: str) -> str:
    with vfs.open(path) as file:
        return file.read().decode()


def save(vfs: Vfs, path: str, text: str) -> None:
    with vfs.open(path, "w") as file:
        file.write(text.encode())

"""What Lawful's own objects can do is declared in protocols: nobody asks them by `getattr` or `hasattr`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import lawful

ROOT = Path(lawful.__file__).parent
PARTS = ("engine", "sources", "reports", "cli", "web", "testing", "confidence", "learning", "watching.py")

# Modules of Python whose features differ by system or version.
SYSTEM = {"sys", "os", "signal", "socket", "_socket", "asyncio"}

# Objects that are not ours: those of the watched program and its libraries, of pytest, of the syntax tree, of a user.
FOREIGN = {
    "engine/expected_errors.py": {"id"},
    "sources/actors/groups.py": {"cr_frame", "_target", "actor_urn"},
    "sources/actors/queue_items.py": {"_fields"},
    "sources/actors/pykka.py": {
        "ActorProxy",
        "_actor",
        "_actor_weakref",
        "args",
        "attr_path",
        "kwargs",
        "value",
    },
    "sources/actors/tasks.py": {"Queue", "_queue", "cr_code"},
    "sources/actors/values.py": {"_fields"},
    "sources/python/tracer_choice.py": {"Tracer", "tracer_core"},  # the C core can be built without the tracer
    "testing/plugin.py": {"numprocesses", "tx", "workeroutput"},
    "watching.py": {"monitor"},
}


def probes(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The line and the attribute of each place that asks an object whether it has an attribute of a fixed name."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or len(node.args) < 2:
            continue
        asked, name = node.args[:2]
        if node.func.id not in ("getattr", "hasattr") or not isinstance(name, ast.Constant):
            continue
        if isinstance(asked, ast.Name) and asked.id in SYSTEM:
            continue
        if not (str(name.value).startswith("__") and str(name.value).endswith("__")):  # every object may have these
            yield node.lineno, str(name.value)


def files() -> list[Path]:
    return [file for part in PARTS for file in ([ROOT / part] if part.endswith(".py") else (ROOT / part).rglob("*.py"))]


def test_our_own_objects_are_not_probed() -> None:
    found = []
    for file in files():
        name = file.relative_to(ROOT).as_posix()
        for line, attribute in probes(ast.parse(file.read_text())):
            if attribute not in FOREIGN.get(name, ()):
                found.append(f"{name}:{line}: {attribute}")
    assert not found, "declare it in a protocol, as laws/protocol.py does"


def test_a_probe_is_noticed() -> None:
    tree = ast.parse('getattr(monitor, "owes", None); hasattr(law, "view"); getattr(sys, "x"); getattr(a, "__doc__")')
    assert [attribute for _, attribute in probes(tree)] == ["owes", "view"]
    assert len(files()) > 100

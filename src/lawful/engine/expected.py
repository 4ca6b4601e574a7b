"""Places where a test asks for an error: what is done there is meant."""

from __future__ import annotations

import ast
import warnings
from typing import Final

# `pytest.raises`, and those of unittest.
_ASKING: Final = frozenset({"raises", "assertRaises", "assertRaisesRegex"})
_HINTS: Final = (b"raises(", b"assertRaises")


def expected_lines(content: bytes) -> frozenset[int]:
    """The lines of a Python file in `with pytest.raises(...)` and the like; none if it cannot be read."""
    if not any(hint in content for hint in _HINTS):
        return frozenset()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return frozenset()
    found: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.With) and any(_asks(item.context_expr) for item in node.items):
            found.update(range(node.body[0].lineno, (node.end_lineno or node.body[-1].lineno) + 1))
        elif isinstance(node, ast.Expr) and _asks(node.value):  # it is given what to call
            found.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return frozenset(found)


def _asks(node: ast.expr) -> bool:
    if not isinstance(node, ast.Call):
        return False
    function = node.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name in _ASKING

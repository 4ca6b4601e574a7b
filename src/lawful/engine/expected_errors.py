"""Places in the source where a test expects an error, or where the program handles it."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from typing import Final

# `pytest.raises`, and those of unittest.
_ASKING: Final = frozenset({"raises", "assertRaises", "assertRaisesRegex"})
_HINTS: Final = (b"raises(", b"assertRaises")


def expected_lines(content: bytes) -> frozenset[int]:
    """The lines of a Python file in `with pytest.raises(...)` and the like; none if it cannot be read."""
    tree = _tree(content) if any(hint in content for hint in _HINTS) else None
    found: set[int] = set()
    for node in _walk(tree) if tree else ():
        if isinstance(node, ast.With) and any(_asks(item.context_expr) for item in node.items):
            found.update(range(node.body[0].lineno, (node.end_lineno or node.body[-1].lineno) + 1))
        elif isinstance(node, ast.Expr) and _asks(node.value):  # it is given what to call
            found.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return frozenset(found)


def answered_lines(content: bytes) -> dict[int, frozenset[str]]:
    """The lines in `try` whose errors the program handles, with the names of the exceptions.

    To ignore an error, to log it or to raise it again is not handling it.
    """
    tree = _tree(content) if b"except" in content else None
    found: dict[int, frozenset[str]] = {}
    for node in _walk(tree) if tree else ():
        if not isinstance(node, ast.Try):
            continue
        names = frozenset(name for each in node.handlers if _answers(each) for name in _caught(each.type))
        if names:
            for line in _own_lines(node.body):
                found[line] = found.get(line, frozenset()) | names
    return found


def _walk(tree: ast.AST) -> Iterator[ast.AST]:
    """As `ast.walk`, but that imports something each time, which the program may have made fail."""
    waiting = [tree]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(ast.iter_child_nodes(node))


def _tree(content: bytes) -> ast.Module | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _answers(handler: ast.ExceptHandler) -> bool:
    """Does the handler return a result, or raise another error?"""
    return any(
        isinstance(node, ast.Return) or (isinstance(node, ast.Raise) and node.exc is not None)
        for statement in handler.body
        for node in _walk(statement)
    )


def _caught(node: ast.expr | None) -> Iterator[str]:
    """The names of exceptions, without their modules."""
    if isinstance(node, ast.Tuple):
        for each in node.elts:
            yield from _caught(each)
    elif isinstance(node, ast.Attribute):
        yield node.attr
    elif isinstance(node, ast.Name):
        yield node.id


def _own_lines(body: list[ast.stmt]) -> set[int]:
    """Without those of functions that are only made there."""
    lines: set[int] = set()
    for statement in body:
        lines.update(range(statement.lineno, (statement.end_lineno or statement.lineno) + 1))
        for node in _walk(statement):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines.difference_update(range(node.body[0].lineno, (node.end_lineno or node.lineno) + 1))
    return lines


def _asks(node: ast.expr) -> bool:
    if not isinstance(node, ast.Call):
        return False
    function = node.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name in _ASKING

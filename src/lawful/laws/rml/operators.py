"""How tightly the operators of RML bind, and its functions."""

from __future__ import annotations

# Loosest first; all are left-associative. Concatenation binds tighter and has no symbol.
EXPRESSION_LEVELS: dict[str, int] = {"|": 1, "\\/": 2, "/\\": 3}
# Each operator on its own level, as in the original: `12/2*3` is 2, `10-2+3` is 5.
DATA_LEVELS: dict[str, int] = {
    op: level for level, op in enumerate(("||", "&&", "!=", "==", ">=", ">", "<=", "<", "-", "+", "/", "*", "neg", "^"))
}
FUNCTIONS: dict[str, int] = {"abs": 1, "sin": 1, "cos": 1, "tan": 1, "min": 2, "max": 2}

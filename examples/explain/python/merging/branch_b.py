"""The second one's version: function_c follows function_b in main."""

from __future__ import annotations


def function_a() -> None:
    """The first thing to do."""


def function_b() -> None:
    """The second."""


def function_c() -> None:
    """The new one."""


def function_z() -> None:
    """For others to call."""
    function_b()


def main() -> None:
    """The program."""
    function_a()
    function_b()
    function_c()

"""The first one's version: what main did is done by function_z."""

from __future__ import annotations


def function_a() -> None:
    """The first thing to do."""


def function_b() -> None:
    """The second."""


def function_z() -> None:
    """For others to call."""
    function_b()


def main() -> None:
    """The program."""
    function_a()
    function_z()

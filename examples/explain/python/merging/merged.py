"""What the version control system made of both: function_z calls function_c, which nobody wanted."""

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
    function_c()


def main() -> None:
    """The program."""
    function_a()
    function_z()

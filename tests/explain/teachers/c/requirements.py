"""What tests of C programs need, and the reason for which they are skipped where it is not here."""

from __future__ import annotations

import shutil

import pytest

from lawful.errors import LawfulError


def _missing() -> str | None:
    pytest.importorskip("pycparser", reason="pycparser is not installed: lawful[explain]")
    from lawful.explain.teachers.c.cbmc import find_cbmc

    try:
        find_cbmc()
    except LawfulError as error:
        return str(error)
    return None if shutil.which("gcc") else "no gcc to compile what the teachers are compared with"


_REASON = _missing()
needs_cbmc = pytest.mark.skipif(_REASON is not None, reason=str(_REASON))

"""The choice between the C core and its pure-Python twin, and why the C core was refused."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from types import ModuleType

from lawful.errors import LawfulError

ABI = 8
"""What ``abi()`` of the C core must answer: raised with every change of what Python and C expect of each other."""

_MODULE = "lawful._native._core"


def choose(wanted: str, load: Callable[[], ModuleType]) -> tuple[ModuleType | None, str | None]:
    """The C core, or nothing and the reason; ``wanted`` is ``python``, ``native`` or empty for the best there is."""
    if wanted not in ("", "python", "native"):
        raise LawfulError("core-unknown", f"LAWFUL_CORE is {wanted!r}", hint="it may be python or native, or unset")
    if wanted == "python":
        return None, "LAWFUL_CORE=python"
    module, refusal = _try(load)
    if module is None and wanted == "native":
        raise LawfulError(
            "core-missing",
            f"LAWFUL_CORE=native asks for the C core, but: {refusal}",
            hint="unset LAWFUL_CORE to go on without it; `make venv` builds it where there is a C compiler",
        )
    return module, refusal


def _try(load: Callable[[], ModuleType]) -> tuple[ModuleType | None, str | None]:
    try:
        module = load()
    except ModuleNotFoundError as error:
        return None, "not built" if error.name == _MODULE else str(error)
    except ImportError as error:
        return None, " ".join(str(error).split())
    abi = getattr(module, "abi", None)
    if abi is None or abi() != ABI:
        return None, "built for another version; run make venv"
    return module, None


def describe() -> str:
    """Which core is in use, in the words of ``lawful --version``."""
    return "with C core" if NATIVE else f"without C core: {refusal}"


native, refusal = choose(os.environ.get("LAWFUL_CORE", ""), lambda: importlib.import_module(_MODULE))
NATIVE: bool = native is not None
native_tracer: ModuleType | None = native if hasattr(native, "Tracer") else None
"""The C core, if it has a tracer: it has none for some versions of CPython. What belongs to it is missing with it."""

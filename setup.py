"""The part of the build that pyproject.toml cannot say: the optional C core."""

import sys
import sysconfig
from glob import glob

from setuptools import Extension, setup

NATIVE = "src/lawful/_native"
# The C tracer reads the interpreter's frames: each version lays them out in its own way (tracer/frame.h).
TRACER = (3, 12) <= sys.version_info < (3, 14) and not sysconfig.get_config_var("Py_GIL_DISABLED")
TRACER_ONLY = ("tracer/*", "sampling/*", "messages/*")
# engine/dispatch.c needs the first on every version, and the Python tracer is slow without the second.
ALWAYS = (f"{NATIVE}/messages/inline_check.c", f"{NATIVE}/tracer/name_resolution.c")

sources = {*glob(f"{NATIVE}/**/*.c", recursive=True)}
if not TRACER:
    sources.difference_update(*(glob(f"{NATIVE}/{name}.c") for name in TRACER_ONLY))
    sources.update(ALWAYS)

core = Extension(
    "lawful._native._core",
    sources=sorted(sources),
    depends=sorted(glob(f"{NATIVE}/**/*.h", recursive=True)),
    include_dirs=[NATIVE],
    define_macros=[("LAWFUL_TRACER", "1")] if TRACER else [],
    extra_compile_args=["-O3", "-fvisibility=hidden", "-Wall", "-Wextra"],
    # A machine without a compiler gets the pure-Python twin; `lawful --version` says which is in use.
    optional=True,
)

setup(ext_modules=[core] if sources else [])

"""The part of the build that pyproject.toml cannot say: the optional C core."""

from glob import glob

from setuptools import Extension, setup

NATIVE = "src/lawful/_native"
sources = sorted(glob(f"{NATIVE}/**/*.c", recursive=True))

core = Extension(
    "lawful._native._core",
    sources=sources,
    depends=sorted(glob(f"{NATIVE}/**/*.h", recursive=True)),
    include_dirs=[NATIVE],
    extra_compile_args=["-O3", "-fvisibility=hidden"],
    # A machine without a compiler gets the pure-Python twin; `lawful --version` says which is in use.
    optional=True,
)

setup(ext_modules=[core] if sources else [])

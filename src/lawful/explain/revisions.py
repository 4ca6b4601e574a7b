"""Versions of a project: git revisions, taken out into a folder of their own, and folders as they are."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from lawful.errors import LawfulError
from lawful.explain.learning_run import below, relative_to_cwd

# Set by git for hooks and aliases. They lead to a repository that need not be the one around the folder.
_PLACES = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR")
_FILES = (".py", ".c", ".i")


@dataclass(frozen=True)
class Version:
    """One state of a project."""

    name: str
    folder: str  # where it lies. It stands for the folder that the user is in.
    taken_out: bool = False  # whether it is a copy, which will be gone
    root: str | None = None  # where its whole tree begins, if that is known: `folder` may be a part of it
    commit: str | None = None  # of a git revision

    def shown(self, file: str) -> str:
        """A file of it, as a reader knows it: git's own way to name one of a revision."""
        if not self.taken_out:
            return relative_to_cwd(file)
        inside = below(self.folder, file)
        return file if inside is None else f"{self.name}:{inside}"


def relative_target(target: str, versions: Sequence[Version], start: str | None = None) -> str:
    """The target as it is to be looked for in each version: its file by the path from the version's folder.

    A whole path leads to one version, whichever is meant. It is taken for the file at the same place in each, if it
    lies in the folder of one of them, or in the project that the user is in."""
    file, rest = _split_target(target)
    if not os.path.isabs(file):
        return target
    here = os.path.abspath(start or os.getcwd())
    folders = [version.folder for version in versions if not version.taken_out]
    for folder in sorted(folders, key=len, reverse=True):  # the innermost
        if (inside := below(folder, file)) is not None:
            return inside + rest
    # A version that was taken out is one of the repository around the folder.
    if any(version.taken_out for version in versions) and below(_toplevel(here), file) is not None:
        return os.path.relpath(os.path.realpath(file), os.path.realpath(here)) + rest
    hint = "name the file by its path in the project, such as package/module.py:function"
    message = "this file is outside of the versions: it would be the same in each"
    raise LawfulError("explain-target", message, where=target, hint=hint)


def check_target_exists(target: str, versions: Sequence[Version]) -> None:
    """Whether each version has the target's own file or module: else something else would be compared."""
    file, rest = _split_target(target)
    if not rest and not file.endswith(_FILES):
        return  # it names nothing, and is refused as such
    found: dict[str, Version] = {}
    for version in versions:
        if not file.endswith(_FILES):
            if not _has_module(version.folder, file):
                hint = "the modules of a version are in its folder, or in src below it"
                raise LawfulError("explain-target", f"{version.name} has no module {file}", hint=hint)
            continue
        place = os.path.realpath(os.path.join(version.folder, file))
        if not os.path.isfile(place):
            raise LawfulError("explain-target", f"{version.name} has no file {file}", where=target)
        other = found.setdefault(place, version)
        outside = version.root is not None and below(version.root, place) is None
        if outside or os.path.realpath(other.folder) != os.path.realpath(version.folder):
            message = f"{file} is outside of {version.name}: it would be the same in each version"
            raise LawfulError("explain-target", message, where=target)


def _split_target(target: str) -> tuple[str, str]:
    """A target's file or module, and the rest, with its colons."""
    if "::" in target:
        file, colons, rest = target.partition("::")
    elif target.endswith(_FILES):
        return target, ""
    else:
        file, colons, rest = target.rpartition(":")
    return (file, colons + rest) if colons else (target, "")


def _has_module(folder: str, name: str) -> bool:
    """Whether Python would find a module in this folder, before it looks in others."""
    *packages, last = name.split(".")
    for base in (folder, os.path.join(folder, "src")):
        with suppress(OSError):
            if any(entry.split(".")[0] == last for entry in os.listdir(os.path.join(base, *packages))):
                return True
    return False


@contextmanager
def open_version(name: str, start: str | None = None) -> Iterator[Version]:
    """A git revision of the project around `start` (else the current folder), or else a folder of that name.

    The revision is written into a temporary folder by way of an index of its own: neither the user's files nor the
    repository's index, worktrees or hooks have a part in it."""
    here = os.path.abspath(start or os.getcwd())
    commit = _commit(name, here)
    if commit is None:
        folder = os.path.join(here, name)
        if not name or not os.path.isdir(folder):
            message = "this is neither a git revision nor a folder"
            raise LawfulError("revision-not-found", message, where=name, hint=_advice(here))
        yield Version(name, os.path.abspath(folder))
        return
    top = _toplevel(here)
    prefix = _git(here, "rev-parse", "--show-prefix")
    with tempfile.TemporaryDirectory(prefix="lawful-revision-") as scratch:
        root = os.path.join(scratch, "tree")
        os.makedirs(os.path.join(root, ".git"))  # where a project begins, for those who look for that
        index = {"GIT_INDEX_FILE": os.path.join(scratch, "index")}
        _git(top, "read-tree", commit, settings=index)
        _git(top, "checkout-index", "--all", "--quiet", f"--prefix={root}/", settings=index)
        folder = os.path.join(root, prefix)
        if not os.path.isdir(folder):
            message = f"this revision has no folder {prefix.rstrip('/')}"
            hint = "run the command in a folder that both versions have"
            raise LawfulError("revision-not-found", message, where=name, hint=hint)
        yield Version(name, folder, taken_out=True, root=root, commit=commit)


def not_committed(versions: Sequence[Version], start: str | None = None) -> str | None:
    """The warning for a user who compares the last commit, and has changed files since."""
    here = os.path.abspath(start or os.getcwd())
    if any(not version.taken_out for version in versions):
        return None
    head = _commit("HEAD", here)
    last = next((version.name for version in versions if version.commit == head), None)
    if last is None or not _git(here, "status", "--porcelain", "--untracked-files=no"):
        return None
    return f"Lawful does not compare the files that you changed since {last}: . stands for the files as they are"


def _advice(folder: str) -> str:
    """What helps somebody whose version was not found; where git itself has a problem, its words."""
    try:
        _git(folder, "rev-parse", "--git-dir")
    except LawfulError as error:
        return error.message
    return "`git log --oneline` shows revisions; HEAD is the last commit, and . the files as they are now"


def is_revision(name: str, start: str | None = None) -> bool:
    """Whether git knows a commit by this name."""
    return _commit(name, os.path.abspath(start or os.getcwd())) is not None


def _commit(name: str, folder: str) -> str | None:
    """The commit of this name in the repository around a folder."""
    if not name or name.startswith("-") or "\0" in name:
        return None
    try:
        return _git(folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    except LawfulError:
        return None


def _toplevel(folder: str) -> str:
    return _git(folder, "rev-parse", "--show-toplevel")


def _git(folder: str, *words: str, settings: dict[str, str] | None = None) -> str:
    kept = {name: text for name, text in os.environ.items() if name not in _PLACES}
    try:
        done = subprocess.run(
            ("git", *words),
            cwd=folder,
            env=kept | (settings or {}) | {"LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
        )
    except FileNotFoundError:
        raise LawfulError("revision-git", "git is not installed, or not found", hint="compare folders") from None
    if done.returncode:
        problem = " ".join(done.stderr.split()) or f"exit code {done.returncode}"
        raise LawfulError("revision-git", f"git {words[0]}: {problem}", where=folder)
    return done.stdout.rstrip("\n")

"""What belongs to the program, and which packages, functions and classes the user asked to watch."""

from __future__ import annotations

import fnmatch
import functools
import os
import re
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from lawful import pristine_os
from lawful.config import find_project
from lawful.errors import LawfulError

Access = Literal["public", "private", "dunder"]

STDLIB: Final = "stdlib"
_INSTALLED: Final = frozenset({"site-packages", "dist-packages"})
_ACCESS: Final = "access:"
_NAME: Final = re.compile(r"[\w.*?\[\]!<>]+")
_LAWFUL: Final = str(Path(os.path.realpath(__file__)).parents[2])  # the package itself


@dataclass(frozen=True, slots=True)
class Scope:
    """The names to watch beyond those in laws, and where the program's own code is. Patterns may have `*`, `?`, `[..]`.

    `calls`: packages, modules, classes or functions; calls into them are seen where own code makes them. `stdlib` is
    the standard library with the builtins, `*` all that is not own code.
    `public`: the same, but the public functions and methods in them report themselves, whoever calls them.
    `fields`: classes whose attributes are watched where own code reads and writes them.
    `include`, `exclude`: patterns on qualified names, as `pkg.mod.*`; on files, if they have a slash or end in `.py`;
    on access, as `access:private`. Names and access narrow what the three above bring, files also what is own code.
    """

    calls: tuple[str, ...] = ()
    public: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    project: Path = field(default_factory=lambda: find_project(os.getcwd()))
    _compiled: _CompiledScope = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for option in ("calls", "public", "fields", "include", "exclude"):
            patterns: Iterable[str] = getattr(self, option)
            if isinstance(patterns, str):
                patterns = (patterns,)
            object.__setattr__(self, option, tuple(_checked(each, option) for each in patterns))
        object.__setattr__(self, "project", Path(os.path.abspath(self.project)))
        object.__setattr__(self, "_compiled", _CompiledScope(self))

    def __reduce__(self) -> tuple[object, ...]:
        return Scope, (self.calls, self.public, self.fields, self.include, self.exclude, self.project)

    # -- files ------------------------------------------------------------------------------------

    def own(self, filename: str) -> bool:
        """Is the code of this file the program's own?"""
        return self._compiled.own(filename)

    def event_file(self, filename: str) -> str:
        """A file as events name it: relative to the project folder, if it lies there."""
        return self._compiled.event_file(filename)

    def lawful(self, filename: str) -> bool:
        """Is it code of Lawful itself?"""
        return self._compiled.lawful(filename)

    def file_wanted(self, filename: str) -> bool:
        """Do the include and exclude patterns on files let it through?"""
        return self._compiled.file_wanted(filename)

    # -- names ------------------------------------------------------------------------------------

    def called(self, name: str, module: str, *, own: bool) -> bool:
        """Are calls that own code makes of what has this name and module wanted? `own`: it is own code itself."""
        return self._compiled.called(name, module, own) and self._compiled.name_wanted(name)

    def reports(self, names: Sequence[str], filename: str) -> bool:
        """Is this Python function, by one of its names, one of the public ones that report themselves?"""
        compiled = self._compiled
        wanted = any(compiled.public(name) and compiled.name_wanted(name) for name in names)
        return wanted and compiled.file_wanted(filename)

    def has_field(self, class_name: str, name: str) -> bool:
        """Is this attribute of a class of this name wanted?"""
        return self._compiled.fields(class_name) and self._compiled.name_wanted(f"{class_name}.{name}")


def access(name: str) -> Access:
    """Whether a qualified name is public, private or special, by its underscores."""
    parts = name.split(".")
    if any(part.startswith("_") and not _is_dunder(part) for part in parts):
        return "private"
    return "dunder" if _is_dunder(parts[-1]) else "public"


def is_public(name: str) -> bool:
    """May everybody call it? Nothing in the name is private, or hidden in a function; it may be a special method."""
    *outer, last = name.removeprefix("__main__.").split(".")
    return "<" not in name and not any(part.startswith("_") for part in outer) and access(last) != "private"


def _is_dunder(part: str) -> bool:
    return len(part) > 4 and part.startswith("__") and part.endswith("__")


def _is_file(pattern: str) -> bool:
    return "/" in pattern or "\\" in pattern or pattern.endswith(".py")


def _checked(pattern: object, option: str) -> str:
    if not isinstance(pattern, str) or not pattern.strip():
        raise LawfulError("scope-pattern", f"{option}: a pattern is missing", hint=_HINTS[option])
    if option in ("include", "exclude"):
        if pattern.startswith(_ACCESS):
            if pattern.removeprefix(_ACCESS) in ("public", "private", "dunder"):
                return pattern
            hint = "access:public, access:private or access:dunder"
            raise LawfulError("scope-pattern", f"{option}: there is no {pattern!r}", hint=hint)
        if _is_file(pattern):
            return pattern.replace("\\", "/")
    if not _NAME.fullmatch(pattern) or any(not part or part[0].isdigit() for part in pattern.split(".")):
        raise LawfulError("scope-pattern", f"{option}: {pattern!r} is no qualified name", hint=_HINTS[option])
    return pattern


_HINTS: Final = {
    "calls": "name a package, module, class or function as it is imported, as in sqlite3; or stdlib; or *",
    "public": "name a package, module or class as it is imported, as in app.models",
    "fields": "name a class with its module, as in app.models.Account",
    "include": "a qualified name as in pkg.mod.*, a file as in src/*.py, or access:private",
    "exclude": "a qualified name as in pkg.mod.*, a file as in src/*.py, or access:private",
}


class _CompiledScope:
    """The patterns of a scope, ready for use, and the answers given so far."""

    def __init__(self, scope: Scope) -> None:
        self._project = str(scope.project)
        self._projects = tuple(dict.fromkeys((self._project, os.path.realpath(self._project))))
        self._start = os.getcwd()  # the program may change it; relative names of files were made before
        self._libraries = _library_folders()
        self._stdlib = os.path.join(_install_path("stdlib"), "")
        self._any_calls = "*" in scope.calls
        self._stdlib_calls = STDLIB in scope.calls
        self._calls = _prefixes(each for each in scope.calls if each not in ("*", STDLIB))
        self._public = _prefixes(scope.public)
        self._fields = _any_of(scope.fields)
        self._include = _Filter(scope.include)
        self._exclude = _Filter(scope.exclude)
        self._paths = functools.cache(self._find_paths)
        self.own = functools.cache(self._own)
        self.event_file = functools.cache(self._event_file)
        self.lawful = functools.cache(self._lawful)
        self.file_wanted = functools.cache(self._file_wanted)
        self._environment = functools.cache(_is_environment)

    # -- files ------------------------------------------------------------------------------------

    def _find_paths(self, filename: str) -> tuple[str, ...]:
        """The file's name made absolute, and with links resolved; empty if it is not a file."""
        if not filename or filename.startswith("<") or "\0" in filename:
            return ()
        if filename.startswith(self._stdlib) and not any(each in filename for each in _INSTALLED):
            return (filename,)  # there are many of these, and to resolve links takes long
        if _within(filename, _LAWFUL) and ".." not in filename:
            return (filename,)  # the same: Lawful's threads would wait for the interpreter's lock at each step
        path = pristine_os.files.normpath(pristine_os.files.join(self._start, filename))
        return tuple(dict.fromkeys((path, pristine_os.real_path(path))))

    def _own(self, filename: str) -> bool:
        paths = self._paths(filename)
        if not paths:
            return False
        real = paths[-1]
        # A link from the installed packages into the project leads to own code, one out of it does not.
        if any(_within(real, project) for project in self._projects):
            return not self._installed(real) and self.file_wanted(filename)
        return (
            any(_within(path, project) for path in paths for project in self._projects)
            and not any(map(self._installed, paths))
            and self.file_wanted(filename)
        )

    def _installed(self, path: str) -> bool:
        if _within(path, _LAWFUL) or any(_within(path, folder) for folder in self._libraries):
            return True
        inside = next((path[len(project) :] for project in self._projects if _within(path, project)), path)
        folders = inside.split(pristine_os.SEP)[:-1]
        if not _INSTALLED.isdisjoint(folders):
            return True
        base = path[: len(path) - len(inside)]
        at = base
        for folder in folders:
            at = pristine_os.files.join(at, folder) if folder else at
            if at != base and self._environment(at):
                return True
        return False

    def _event_file(self, filename: str) -> str:
        paths = self._paths(filename)
        for path in paths:
            for project in self._projects:
                if _within(path, project):
                    return path[len(project) :].strip(pristine_os.SEP).replace(pristine_os.SEP, "/") or "."
        return paths[0] if paths else filename

    def _lawful(self, filename: str) -> bool:
        return any(_within(path, _LAWFUL) for path in self._paths(filename))

    def _file_wanted(self, filename: str) -> bool:
        names = {self.event_file(filename), *(path.replace(pristine_os.SEP, "/") for path in self._paths(filename))}
        if self._include.has_files and not any(map(self._include.file, names)):
            return False
        return not any(map(self._exclude.file, names))

    # -- names ------------------------------------------------------------------------------------

    def called(self, name: str, module: str, own: bool) -> bool:
        if self._any_calls and not own:
            return True
        if self._stdlib_calls and module.partition(".")[0] in sys.stdlib_module_names:
            return True
        if self._calls is None:
            return False
        if self._calls.match(name) or self._calls.match(f"{module}."):
            return True
        # What a public module does not show of its private half belongs to it all the same.
        return module.startswith("_") and self._calls.match(f"{module.lstrip('_')}.") is not None

    def public(self, name: str) -> bool:
        return self._public is not None and is_public(name) and self._public.match(name) is not None

    def fields(self, class_name: str) -> bool:
        return self._fields is not None and self._fields.match(class_name) is not None

    def name_wanted(self, name: str) -> bool:
        if self._include.has_names and not self._include.name(name):
            return False
        return not self._exclude.name(name) and self._include.access_allows(name) and not self._exclude.access(name)


class _Filter:
    def __init__(self, patterns: Sequence[str]) -> None:
        files = [each for each in patterns if not each.startswith(_ACCESS) and _is_file(each)]
        names = [each for each in patterns if not each.startswith(_ACCESS) and not _is_file(each)]
        self._kinds = frozenset(each.removeprefix(_ACCESS) for each in patterns if each.startswith(_ACCESS))
        self._files = _any_of([each + "*" if each.endswith("/") else each for each in files])
        self._names = _any_of(names)
        self.has_files = bool(files)
        self.has_names = bool(names)

    def file(self, path: str) -> bool:
        return self._files is not None and self._files.match(path) is not None

    def name(self, name: str) -> bool:
        return self._names is not None and self._names.match(name) is not None

    def access(self, name: str) -> bool:
        return access(name) in self._kinds

    def access_allows(self, name: str) -> bool:
        return not self._kinds or self.access(name)


def _any_of(patterns: Sequence[str]) -> re.Pattern[str] | None:
    return re.compile("|".join(map(fnmatch.translate, patterns))) if patterns else None


def _prefixes(patterns: Iterable[str]) -> re.Pattern[str] | None:
    """What the patterns name, and all that is in it."""
    found = list(patterns)
    return _any_of([*found, *(f"{each}.*" for each in found)])


def _library_folders() -> tuple[str, ...]:
    found = [_install_path(each) for each in ("stdlib", "platstdlib", "purelib", "platlib")]
    return tuple(dict.fromkeys(os.path.realpath(each) for each in found if each))


def _install_path(name: str) -> str:
    """The same as `sysconfig.get_path`, which reads how the interpreter was built for it: that takes milliseconds."""
    if sys.implementation.name != "cpython":
        return sysconfig.get_path(name)
    pattern = sysconfig.get_path(name, expand=False)
    try:
        return os.path.normpath(
            pattern.format(
                base=sys.prefix,
                platbase=sys.exec_prefix,
                installed_base=sys.base_prefix,
                installed_platbase=sys.base_exec_prefix,
                platlibdir=sys.platlibdir,
                implementation_lower="python",
                py_version_short=f"{sys.version_info[0]}.{sys.version_info[1]}",
                py_version_nodot=f"{sys.version_info[0]}{sys.version_info[1]}",
                abi_thread="t" if "t" in getattr(sys, "abiflags", "") else "",
            )
        )
    except KeyError:  # a scheme of somebody's own
        return sysconfig.get_path(name)


def _is_environment(folder: str) -> bool:
    return pristine_os.exists(f"{folder}{pristine_os.SEP}pyvenv.cfg") or pristine_os.exists(
        f"{folder}{pristine_os.SEP}conda-meta{pristine_os.SEP}"
    )


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder if folder.endswith(pristine_os.SEP) else folder + pristine_os.SEP)

"""What belongs to the program, and which packages, functions and classes the user asked to watch."""

from __future__ import annotations

import fnmatch
import functools
import os
import re
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, Literal

from lawful import pristine_os
from lawful.config import find_project
from lawful.errors import LawfulError

STDLIB: Final = "stdlib"
_INSTALLED: Final = frozenset({"site-packages", "dist-packages"})
_ACCESS: Final = "access:"
_NAME: Final = re.compile(r"[\w.*?\[\]!<>]+")
_LAWFUL: Final = str(Path(os.path.realpath(__file__)).parents[2])  # the package itself


def access(name: str) -> Literal["public", "private", "dunder"]:
    """Whether a qualified name is public, private or special, by its underscores."""
    parts = name.split(".")
    if any(part.startswith("_") and not _is_dunder(part) for part in parts):
        return "private"
    return "dunder" if _is_dunder(parts[-1]) else "public"


def is_public(name: str) -> bool:
    """Is every part of the name public, and outside functions? A special method may be public."""
    *outer, last = name.removeprefix("__main__.").split(".")
    return "<" not in name and not any(part.startswith("_") for part in outer) and access(last) != "private"


def _is_dunder(part: str) -> bool:
    return len(part) > 4 and part.startswith("__") and part.endswith("__")


def _is_file(pattern: str) -> bool:
    return "/" in pattern or "\\" in pattern or pattern.endswith(".py")


def _checked(patterns: Iterable[str], option: str) -> tuple[str, ...]:
    return tuple(_checked_one(each, option) for each in ((patterns,) if isinstance(patterns, str) else patterns))


def _checked_one(pattern: object, option: str) -> str:
    if not isinstance(pattern, str) or not pattern.strip():
        raise LawfulError("scope-pattern", f"{option}: a pattern is empty", hint=_HINTS[option])
    if option in ("include", "exclude"):
        if pattern.startswith(_ACCESS):
            if pattern.removeprefix(_ACCESS) in ("public", "private", "dunder"):
                return pattern
            hint = "use access:public, access:private or access:dunder"
            raise LawfulError("scope-pattern", f"{option}: unknown access {pattern!r}", hint=hint)
        if _is_file(pattern):
            return pattern.replace("\\", "/")
    if not _NAME.fullmatch(pattern) or any(not part or part[0].isdigit() for part in pattern.split(".")):
        raise LawfulError("scope-pattern", f"{option}: {pattern!r} is not a qualified name", hint=_HINTS[option])
    return pattern


_HINTS: Final = {
    "calls": "name a package, module, class or function as it is imported, as in sqlite3; or stdlib; or *",
    "public": "name a package, module or class as it is imported, as in app.models",
    "fields": "name a class with its module, as in app.models.Account",
    "include": "use a qualified name as in pkg.mod.*, a file as in src/*.py, or access:private",
    "exclude": "use a qualified name as in pkg.mod.*, a file as in src/*.py, or access:private",
}


class Scope:
    """The names to watch beyond those in laws, and where the program's own code is. Patterns may have `*`, `?`, `[..]`.

    `calls`: packages, modules, classes or functions; Lawful sees calls into them where own code makes them. `stdlib` is
    the standard library with the builtins, `*` all that is not own code.
    `public`: the same, but the public functions and methods in them report themselves, whoever calls them.
    `fields`: classes whose attributes Lawful watches where own code reads and writes them.
    `include`, `exclude`: patterns on qualified names, as `pkg.mod.*`; on files, if they have a slash or end in `.py`;
    on access, as `access:private`. Names and access narrow what the three above bring, files also what is own code.
    """

    def __init__(
        self,
        calls: Iterable[str] = (),
        public: Iterable[str] = (),
        fields: Iterable[str] = (),
        include: Iterable[str] = (),
        exclude: Iterable[str] = (),
        project: Path | None = None,
    ) -> None:
        self.calls = _checked(calls, "calls")
        self.public = _checked(public, "public")
        self.fields = _checked(fields, "fields")
        self.include = _checked(include, "include")
        self.exclude = _checked(exclude, "exclude")
        self.project = Path(os.path.abspath(find_project(os.getcwd()) if project is None else project))
        self._projects = tuple(dict.fromkeys((str(self.project), os.path.realpath(self.project))))
        self._start = os.getcwd()  # the program may change it; relative names of files were made before
        self._libraries = _library_folders()
        self._stdlib = os.path.join(_install_path("stdlib"), "")
        self._called = _prefixes(each for each in self.calls if each not in ("*", STDLIB))
        self._public = _prefixes(self.public)
        self._fields = _any_of(self.fields)
        self._include, self._exclude = _Filter(self.include), _Filter(self.exclude)
        self._paths = functools.cache(self._find_paths)
        self._environment = functools.cache(_is_environment)
        self.own = functools.cache(self._own)
        self.event_file = functools.cache(self._event_file)
        self.lawful = functools.cache(self._lawful)
        self.file_wanted = functools.cache(self._file_wanted)

    def __reduce__(self) -> tuple[object, ...]:
        return Scope, (self.calls, self.public, self.fields, self.include, self.exclude, self.project)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scope) and self.__reduce__() == other.__reduce__()

    def _find_paths(self, filename: str) -> tuple[str, ...]:
        """The file's name made absolute, and with links resolved; empty if it is not a file."""
        if not filename or filename.startswith("<") or "\0" in filename:
            return ()
        if filename.startswith(self._stdlib) and not any(each in filename for each in _INSTALLED):
            return (filename,)  # there are many of these, and resolving links takes long
        if _within(filename, _LAWFUL) and ".." not in filename:
            return (filename,)  # the same: Lawful's threads would wait for the interpreter's lock at each step
        path = pristine_os.files.normpath(pristine_os.files.join(self._start, filename))
        return tuple(dict.fromkeys((path, pristine_os.real_path(path))))

    def _own(self, filename: str) -> bool:
        """Is the code of this file the program's own?"""
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
        """A file as events name it: relative to the project folder, if it lies there."""
        paths = self._paths(filename)
        for path in paths:
            for project in self._projects:
                if _within(path, project):
                    return path[len(project) :].strip(pristine_os.SEP).replace(pristine_os.SEP, "/") or "."
        return paths[0] if paths else filename

    def _lawful(self, filename: str) -> bool:
        """Is it code of Lawful itself?"""
        return any(_within(path, _LAWFUL) for path in self._paths(filename))

    def _file_wanted(self, filename: str) -> bool:
        """Do the include and exclude patterns on files let it through?"""
        names = {self.event_file(filename), *(path.replace(pristine_os.SEP, "/") for path in self._paths(filename))}
        included = self._include.files is None or any(_matches(self._include.files, name) for name in names)
        return included and not any(_matches(self._exclude.files, name) for name in names)

    def called(self, name: str, module: str, *, own: bool) -> bool:
        """Are calls that own code makes of what has this name and module wanted? `own`: it is own code itself."""
        return self._is_called(name, module, own) and self._name_wanted(name)

    def _is_called(self, name: str, module: str, own: bool) -> bool:
        if "*" in self.calls and not own:
            return True
        if STDLIB in self.calls and module.partition(".")[0] in sys.stdlib_module_names:
            return True
        if _matches(self._called, name) or _matches(self._called, f"{module}."):
            return True
        # What a public module does not show of its private half belongs to it all the same.
        return module.startswith("_") and _matches(self._called, f"{module.lstrip('_')}.")

    def reports(self, names: Sequence[str], filename: str) -> bool:
        """Is this Python function, by one of its names, one of the public ones that report themselves?"""
        public = (name for name in names if is_public(name) and _matches(self._public, name))
        return any(map(self._name_wanted, public)) and self.file_wanted(filename)

    def has_field(self, class_name: str, name: str) -> bool:
        """Is this attribute of a class of this name wanted?"""
        return _matches(self._fields, class_name) and self._name_wanted(f"{class_name}.{name}")

    def _name_wanted(self, name: str) -> bool:
        include, exclude = self._include, self._exclude
        if _matches(exclude.names, name) or access(name) in exclude.access:
            return False
        if include.names is not None and not _matches(include.names, name):
            return False
        return not include.access or access(name) in include.access


class _Filter:
    """Patterns on files, on names and on access."""

    def __init__(self, patterns: Sequence[str]) -> None:
        self.access = frozenset(each.removeprefix(_ACCESS) for each in patterns if each.startswith(_ACCESS))
        others = [each for each in patterns if not each.startswith(_ACCESS)]
        self.files = _any_of([each + "*" if each.endswith("/") else each for each in others if _is_file(each)])
        self.names = _any_of([each for each in others if not _is_file(each)])


def _matches(pattern: re.Pattern[str] | None, text: str) -> bool:
    return pattern is not None and pattern.match(text) is not None


def _any_of(patterns: Sequence[str]) -> re.Pattern[str] | None:
    return re.compile("|".join(map(fnmatch.translate, patterns))) if patterns else None


def _prefixes(patterns: Iterable[str]) -> re.Pattern[str] | None:
    """What the patterns name, and all that is in it."""
    found = list(patterns)
    return _any_of([*found, *(f"{each}.*" for each in found)])


def _library_folders() -> tuple[str, ...]:
    found = map(_install_path, ("stdlib", "platstdlib", "purelib", "platlib"))
    return tuple(dict.fromkeys(os.path.realpath(each) for each in found if each))


def _install_path(name: str) -> str:
    """The same as `sysconfig.get_path`, which imports how the interpreter was built: the program would notice."""
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
    except KeyError:  # a scheme of a distribution, with variables of its own
        return sysconfig.get_path(name)


def _is_environment(folder: str) -> bool:
    return pristine_os.exists(f"{folder}{pristine_os.SEP}pyvenv.cfg") or pristine_os.exists(
        f"{folder}{pristine_os.SEP}conda-meta{pristine_os.SEP}"
    )


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder if folder.endswith(pristine_os.SEP) else folder + pristine_os.SEP)

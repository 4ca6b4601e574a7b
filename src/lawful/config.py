"""The table `[tool.lawful]` of a project's pyproject.toml: what Lawful watches when no option says otherwise."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from lawful.errors import LawfulError

FILE = "pyproject.toml"
BASELINE = "lawful-baseline.json"
"""The default name of the baseline file, in the project's folder."""

ON_VIOLATION = ("report", "raise", "stop", "count")
FAIL_ON = ("finding", "never")
WHEN_FULL = ("block", "drop")
CORES = ("monitoring", "python")
WAYS = ("auto", "exhaustive", "symbolic", "testing")
TEACHERS = ("one-run", "asking")
LEARNERS = ("auto", "words", "table", "tree", "dont-care")
MAX_COUNT = sys.maxsize

_PROJECT_MARKS = (FILE, "setup.py", "setup.cfg", ".git")

Reader = Callable[[str, Any, str], Any]
"""Checks and converts a value of TOML: takes its key, the value, and where it stands."""
Pairs = tuple[tuple[str, Any], ...]

C = TypeVar("C", bound="Config | LearnConfig | SamplingConfig | ExplainConfig")


def find_project(start: str | os.PathLike[str]) -> Path:
    """The folder of the project that a file or folder belongs to; if there is none, the folder itself."""
    path = Path(os.path.abspath(start))
    folder = path if path.is_dir() else path.parent
    for each in (folder, *folder.parents):
        if any((each / mark).exists() for mark in _PROJECT_MARKS):
            return each
    return folder


# -- readers of values -------------------------------------------------------------------------------------------------


def _bad_value(key: str, what: str, where: str, hint: str | None = None) -> LawfulError:
    return LawfulError("config-value", f"`{key}` must be {what}", where=where, hint=hint)


def _reader(what: str, accepts: Callable[[Any], bool], convert: Callable[[Any], Any] = lambda value: value) -> Reader:
    def read(key: str, value: Any, where: str) -> Any:
        if not accepts(value):
            raise _bad_value(key, what, where)
        return convert(value)

    return read


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, float) or _is_integer(value)


def _at_least(least: int) -> Reader:
    return _reader(f"a whole number, {least} or more", lambda value: _is_integer(value) and least <= value <= MAX_COUNT)


_string = _reader("a string", lambda value: isinstance(value, str) and value != "")
_integer = _reader("a whole number", _is_integer)  # the learner checks the range
_number = _reader("a number", _is_number, float)
_seconds = _reader("a positive number of seconds", lambda value: _is_number(value) and 0 < value < math.inf, float)
_flag = _reader("true or false", lambda value: isinstance(value, bool))
_table = _reader("a table", lambda value: isinstance(value, dict))


def _strings(key: str, value: Any, where: str) -> tuple[str, ...]:
    if not _is_strings(value):
        hint = f'write {key} = ["{value}"]' if isinstance(value, str) else None
        raise _bad_value(key, "a list of strings", where, hint)
    return tuple(value)


def _is_strings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def _share(key: str, value: Any, where: str) -> str:
    """A share as `"5%"` or 0.05, unparsed."""
    return repr(value) if _is_number(value) else str(_string(key, value, where))


def _groups(key: str, value: Any, where: str) -> Pairs:
    """What each group is: `WorkerGroup = "class app.Worker"`, or a list of such."""
    found = []
    for name, each in _table(key, value, where).items():
        texts = [each] if isinstance(each, str) else each
        if not texts or not _is_strings(texts):
            hint = f'write {name} = "class app.Worker", or a list'
            raise LawfulError("config-value", f"the group `{name}` must be a string", where=where, hint=hint)
        found.append((name, tuple(texts)))
    return tuple(found)


def _thresholds(key: str, value: Any, where: str) -> Pairs:
    """Numbers by name. TOML reads a dotted name without quotation marks as a table: both mean the same."""
    found: list[tuple[str, float]] = []
    for name, each in _table(key, value, where).items():
        if isinstance(each, dict):
            found += [(f"{name}.{rest}", number) for rest, number in _thresholds(key, each, where)]
        elif _is_number(each):
            found.append((name, each))
        else:
            raise LawfulError("config-value", f"the threshold `{name}` must be a number", where=where)
    return tuple(found)


def _one_of(choices: tuple[str, ...]) -> Reader:
    def read(key: str, value: Any, where: str) -> str:
        if not isinstance(value, str) or value not in choices:
            hint = None
            if isinstance(value, str):
                from lawful.diagnostics import did_you_mean

                meant = did_you_mean(value, choices)
                hint = f'did you mean "{meant}"?' if meant else None
            raise _bad_value(key, "one of " + ", ".join(f'"{choice}"' for choice in choices), where, hint)
        return value

    return read


def _below(name: str, folder: str) -> str:
    return os.path.join(folder, name)


def _file_or_name(word: str, folder: str) -> str:
    """A file's path from the current folder. A word that neither is nor looks like a file names something in Lawful."""
    path = os.path.join(folder, word)
    if os.path.isfile(path) or os.path.splitext(word)[1]:
        return os.path.relpath(path) if not os.path.isabs(word) else word
    return word


# -- the tables --------------------------------------------------------------------------------------------------------


def _setting(read: Reader, default: Any = None, *, path: Callable[[str, str], str] | None = None) -> Any:
    """A key of a table. `path` turns a path that counts from the project's folder into one for this process."""
    return field(default=default, metadata={"read": read, "path": path})


@dataclass(frozen=True)
class LearnConfig:
    """The table `[tool.lawful.learn]`. None: the project does not say."""

    window: int | None = _setting(_integer)
    budget: int | None = _setting(_integer)
    templates: tuple[str, ...] = _setting(_strings, ())  # besides the default ones
    without_templates: tuple[str, ...] = _setting(_strings, ())
    strategy: str | None = _setting(_string)
    thresholds: tuple[tuple[str, float], ...] = _setting(_thresholds, ())  # of several of one name the last counts
    seed: int | None = _setting(_integer)
    tune: bool | None = _setting(_flag)
    joins: tuple[str, ...] = _setting(_strings, ())
    store: str | None = _setting(_string, path=_below)
    known: bool | None = _setting(_flag)  # also report the anomalies that the store has
    export: str | None = _setting(_string, path=_below)
    always: bool | None = _setting(_flag)  # also where there are laws


@dataclass(frozen=True)
class SamplingConfig:
    """The table `[tool.lawful.sampling]`: the confidence to reach, and its cost. None: the project does not say."""

    confidence: float | None = _setting(_number)
    error_rate: float | None = _setting(_number)
    policy: str | None = _setting(_string, path=_file_or_name)
    overhead: str | None = _setting(_share)
    seed: int | None = _setting(_integer)
    store: str | None = _setting(_string, path=_below)
    picture: str | None = _setting(_string, path=_below)

    @property
    def asked(self) -> bool:
        """Is anything to be sampled at all?"""
        return any(each is not None for each in (self.confidence, self.error_rate, self.policy, self.overhead))


@dataclass(frozen=True)
class ExplainConfig:
    """The table `[tool.lawful.explain]`: how programs are explored, and how far. None: the project does not say."""

    way: str | None = _setting(_one_of(WAYS))
    teacher: str | None = _setting(_one_of(TEACHERS))
    learner: str | None = _setting(_one_of(LEARNERS))
    samples: int | None = _setting(_at_least(1))
    seed: int | None = _setting(_integer)
    max_unwind: int | None = _setting(_at_least(1))
    max_word_length: int | None = _setting(_at_least(1))
    all_bounds: bool | None = _setting(_flag)
    max_words: int | None = _setting(_at_least(1))
    max_paths: int | None = _setting(_at_least(1))
    execution_seconds: float | None = _setting(_seconds)
    execution_memory: int | None = _setting(_at_least(1))  # in megabytes


@dataclass(frozen=True)
class Config:
    """The table `[tool.lawful]`. None: the project does not say."""

    laws: tuple[str, ...] = _setting(_strings, (), path=_file_or_name)
    calls: tuple[str, ...] = _setting(_strings, ())
    public: tuple[str, ...] = _setting(_strings, ())
    fields: tuple[str, ...] = _setting(_strings, ())
    include: tuple[str, ...] = _setting(_strings, ())
    exclude: tuple[str, ...] = _setting(_strings, ())
    on_violation: Literal["report", "raise", "stop", "count"] | None = _setting(_one_of(ON_VIOLATION))
    fail_on: str | None = _setting(_one_of(FAIL_ON))
    history: int | None = _setting(_at_least(0))
    trace: str | None = _setting(_string, path=_below)
    diagram: str | None = _setting(_string, path=_below)
    baseline: str | None = _setting(_string, path=_below)
    ignore: tuple[str, ...] = _setting(_strings, ())  # laws, or `law: files`
    buffer: int | None = _setting(_at_least(1))
    when_full: str | None = _setting(_one_of(WHEN_FULL))
    core: str | None = _setting(_one_of(CORES))
    functions: tuple[str, ...] = _setting(_strings, (), path=_file_or_name)  # files with functions for views
    groups: tuple[tuple[str, tuple[str, ...]], ...] = _setting(_groups, ())  # override what views say
    learn: LearnConfig = _setting(_table, LearnConfig())  # noqa: RUF009 - it is frozen
    sampling: SamplingConfig = _setting(_table, SamplingConfig())  # noqa: RUF009
    explain: ExplainConfig = _setting(_table, ExplainConfig())  # noqa: RUF009
    file: str | None = None  # where it was read


_TABLES = (LearnConfig, SamplingConfig, ExplainConfig)
"""Tables inside the table."""


def settings(kind: type) -> dict[str, Field[Any]]:
    """The fields of a table that a user can set, by name."""
    return {each.name: each for each in fields(kind) if "read" in each.metadata}


# -- reading -----------------------------------------------------------------------------------------------------------


def load(folder: str) -> Config:
    """The configuration of the project in this folder; an empty one if it has none."""
    path = os.path.join(folder, FILE)
    try:
        with open(path, "rb") as file:
            content = file.read()
    except (FileNotFoundError, NotADirectoryError):
        return Config()
    except OSError as error:
        raise LawfulError("config-not-readable", error.strerror or str(error), where=path) from error
    # Most projects have no table for Lawful, and importing the parser takes a while.
    return parse(content, path) if b"lawful" in content else Config()


def parse(content: bytes, path: str) -> Config:
    """The configuration in the text of a pyproject.toml; paths in it count from its folder."""
    import tomllib

    try:
        text = content.decode("utf-8").replace("\r\n", "\n")
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise LawfulError("config-bad-toml", str(error), where=path) from None
    table = document.get("tool", {})
    table = table.get("lawful") if isinstance(table, dict) else None
    if table is None:
        return Config()
    if not isinstance(table, dict):
        raise LawfulError("config-value", "`tool.lawful` must be a table", where=path)
    folder = os.path.dirname(path)
    found = _parsed(Config, table, "tool.lawful", folder, lambda key, name: _where(path, text, key, name))
    return replace(found, file=path)


def from_words(words: Iterable[str]) -> Config:
    """The configuration of `--set KEY=VALUE` options: a VALUE is written as in TOML, or as a plain word."""
    found = Config()
    for word in words:
        key, equals, text = word.partition("=")
        if not equals or not key.strip():
            hint = "write --set KEY=VALUE, as in --set learn.window=50"
            raise LawfulError("usage", f"--set got {word!r:.60}, which has no `=`", hint=hint)
        table = _table_of_word(key.strip().split("."), text.strip())
        found = combined(found, _parsed(Config, table, "tool.lawful", "", _constant(f"--set {word}")))
    return found


def _constant(text: str) -> Callable[[str, str], str]:
    return lambda key, table: text


def _table_of_word(keys: Sequence[str], text: str) -> dict[str, Any]:
    """A value of `--set` as the table that TOML would have."""
    kind: type = Config
    read: Reader | None = None
    for key in keys:
        setting = settings(kind).get(key.replace("-", "_")) if is_dataclass(kind) else None
        if setting is None:
            break
        kind, read = type(setting.default), setting.metadata["read"]
    value = _toml_value(text)
    if read is _string and not isinstance(value, str):
        value = text
    table: Any = [value] if read is _strings and not isinstance(value, list) else value
    for key in reversed(keys):
        table = {key: table}
    return dict(table)


def _toml_value(text: str) -> Any:
    import tomllib

    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _parsed(kind: type[C], table: Mapping[str, Any], name: str, folder: str, where: Callable[[str, str], str]) -> C:
    """A table, checked and converted. Paths in it count from `folder`; `where` says where a key of a table stands."""
    known = {each.replace("_", "-"): setting for each, setting in settings(kind).items()}
    values: dict[str, Any] = {}
    for key, value in table.items():
        place = where(key, name)
        if key not in known:
            raise _unknown(key, place, known)
        setting = known[key]
        read = setting.metadata["read"](key, value, place)
        if isinstance(setting.default, _TABLES):
            read = _parsed(type(setting.default), read, f"{name}.{key}", folder, where)
        elif read and (locate := setting.metadata["path"]) is not None:
            read = locate(read, folder) if isinstance(read, str) else tuple(locate(each, folder) for each in read)
        values[setting.name] = read
    return kind(**values)


def _unknown(key: str, where: str, known: Mapping[str, object]) -> LawfulError:
    from lawful.diagnostics import did_you_mean, printable

    meant: str | None = key.replace("_", "-")
    if meant not in known:
        meant = did_you_mean(key.replace("_", "-"), known)
    hint = f"did you mean `{meant}`?" if meant else f"known are {', '.join(known)}"
    return LawfulError("config-unknown-key", f"`{printable(key)}` is no setting of Lawful", where=where, hint=hint)


def _where(path: str, text: str, key: str, table: str) -> str:
    """The line of a key in a table, as far as a search without a parser finds it."""
    from lawful.diagnostics import printable

    inside = False
    for number, line in enumerate(text.split("\n"), 1):
        words = line.strip()
        if words.startswith("["):
            inside = "".join(words.partition("#")[0].split()).replace('"', "") == f"[{table}]"
        name = words.partition("=")[0].strip().strip("\"'")
        if (inside and name == key) or name == f"{table}.{key}":
            return f"{printable(path)}:{number}"
    return printable(path)


def combined(base: C, given: C) -> C:
    """A project's configuration with the options given besides: lists add up, otherwise the option wins."""
    values: dict[str, Any] = {}
    for name in settings(type(base)):
        below, above = getattr(base, name), getattr(given, name)
        if isinstance(above, _TABLES):
            values[name] = combined(below, above)
        elif name in ("thresholds", "groups"):
            values[name] = tuple(dict((*below, *above)).items())
        elif isinstance(above, tuple):
            values[name] = tuple(dict.fromkeys((*below, *above)))
        else:
            values[name] = below if above is None else above
    return replace(base, **values)

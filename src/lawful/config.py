"""The table `[tool.lawful]` of a project's pyproject.toml: what is watched when no flag says otherwise."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from lawful.errors import LawfulError

FILE = "pyproject.toml"
BASELINE = "lawful-baseline.json"
"""Where the findings are that are known, in the folder of the project, if nobody says otherwise."""

ON_VIOLATION = ("report", "raise", "stop", "count")
FAIL_ON = ("finding", "never")
WHEN_FULL = ("block", "drop")
CORES = ("monitoring", "python")
MOST = sys.maxsize
"""No machine has room for more of anything."""


@dataclass(frozen=True)
class LearnConfig:
    """What a project asks of the learner: its table `[tool.lawful.learn]`. None: it does not say."""

    window: int | None = None
    budget: int | None = None
    templates: tuple[str, ...] = ()  # besides the usual ones
    without_templates: tuple[str, ...] = ()
    strategy: str | None = None
    thresholds: tuple[tuple[str, float], ...] = ()  # by name; of several of one name the last holds
    seed: int | None = None
    tune: bool | None = None
    joins: tuple[str, ...] = ()
    store: str | None = None
    always: bool | None = None  # also where there are laws


@dataclass(frozen=True)
class SamplingConfig:
    """How sure a project wants to be, and at what cost: its table `[tool.lawful.sampling]`. None: it does not say."""

    confidence: float | None = None
    error_rate: float | None = None
    policy: str | None = None
    overhead: str | None = None
    seed: int | None = None
    store: str | None = None

    @property
    def asked(self) -> bool:
        """Is anything to be sampled at all?"""
        return any(each is not None for each in (self.confidence, self.error_rate, self.policy, self.overhead))


@dataclass(frozen=True)
class Config:
    """What a project asks for. None: it does not say."""

    laws: tuple[str, ...] = ()  # names of the catalogue, or files as paths from the current folder
    calls: tuple[str, ...] = ()
    public: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    on_violation: Literal["report", "raise", "stop", "count"] | None = None
    fail_on: str | None = None
    history: int | None = None
    trace: str | None = None
    baseline: str | None = None
    ignore: tuple[str, ...] = ()  # laws, or `law: files`
    buffer: int | None = None
    when_full: str | None = None
    core: str | None = None
    functions: tuple[str, ...] = ()  # files with functions that views may call, as paths from the current folder
    groups: tuple[tuple[str, tuple[str, ...]], ...] = ()  # what groups are, in place of what views say
    learn: LearnConfig = LearnConfig()
    sampling: SamplingConfig = SamplingConfig()
    file: str | None = None  # where it was read


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
    # Most projects have nothing to say, and the parser takes a while to import.
    if b"lawful" not in content:
        return Config()
    return parse(content, path)


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
    values: dict[str, Any] = {"file": path}
    for key, value in table.items():
        where = _where(path, text, key)
        if key not in KEYS:
            raise _unknown(key, where, KEYS)
        values[key.replace("-", "_")] = KEYS[key](key, value, where)
    folder = os.path.dirname(path)
    for key in ("laws", "functions"):
        if key in values:
            values[key] = tuple(_located(each, folder) for each in values[key])
    for key in ("trace", "baseline"):
        if key in values:
            values[key] = os.path.join(folder, values[key])
    if "learn" in values:
        values["learn"] = LearnConfig(**_inner("learn", values["learn"], LEARN_KEYS, path, text))
    if "sampling" in values:
        values["sampling"] = SamplingConfig(**_inner("sampling", values["sampling"], SAMPLING_KEYS, path, text))
    return Config(**values)


def _inner(name: str, table: dict[str, Any], keys: dict[str, Read], path: str, text: str) -> dict[str, Any]:
    """The values of a table in ours."""
    values: dict[str, Any] = {}
    for key, value in table.items():
        where = _where(path, text, key, f"tool.lawful.{name}")
        if key not in keys:
            raise _unknown(key, where, keys)
        values[key.replace("-", "_")] = keys[key](key, value, where)
    folder = os.path.dirname(path)
    if "store" in values:
        values["store"] = os.path.join(folder, values["store"])
    if "policy" in values:
        values["policy"] = _located(values["policy"], folder)
    return values


def _located(law: str, folder: str) -> str:
    """A file's name as it is from here. What looks like no file, and is none, is a name of something of Lawful's."""
    path = os.path.join(folder, law)
    if os.path.isfile(path) or os.path.splitext(law)[1]:
        return os.path.relpath(path) if not os.path.isabs(law) else law
    return law


Read = Callable[[str, Any, str], Any]


def _strings(key: str, value: Any, where: str) -> tuple[str, ...]:
    if isinstance(value, str) or not (isinstance(value, list) and all(isinstance(item, str) for item in value)):
        hint = f'write {key} = ["{value}"]' if isinstance(value, str) else None
        raise LawfulError("config-value", f"`{key}` must be a list of strings", where=where, hint=hint)
    return tuple(value)


def _string(key: str, value: Any, where: str) -> str:
    if not isinstance(value, str) or not value:
        raise LawfulError("config-value", f"`{key}` must be a string", where=where)
    return value


def _at_least(least: int) -> Read:
    def read(key: str, value: Any, where: str) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= MOST:
            raise LawfulError("config-value", f"`{key}` must be a whole number, {least} or more", where=where)
        return value

    return read


def _whole(key: str, value: Any, where: str) -> int:
    # What is in range, the learner knows.
    if not isinstance(value, int) or isinstance(value, bool):
        raise LawfulError("config-value", f"`{key}` must be a whole number", where=where)
    return value


def _number(key: str, value: Any, where: str) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise LawfulError("config-value", f"`{key}` must be a number", where=where)
    return float(value)


def _share(key: str, value: Any, where: str) -> str:
    """A share as `"5%"` or 0.05: what it means, is told where it is used."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return repr(value)
    return _string(key, value, where)


def _flag(key: str, value: Any, where: str) -> bool:
    if not isinstance(value, bool):
        raise LawfulError("config-value", f"`{key}` must be true or false", where=where)
    return value


def _table(key: str, value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise LawfulError("config-value", f"`{key}` must be a table", where=where)
    return value


def _groups(key: str, value: Any, where: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """What each group is: `WorkerGroup = "class app.Worker"`, or a list of such."""
    found = []
    for name, each in _table(key, value, where).items():
        texts = [each] if isinstance(each, str) else each
        if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
            hint = f'write {name} = "class app.Worker", or a list'
            raise LawfulError("config-value", f"the group `{name}` must be a string", where=where, hint=hint)
        found.append((name, tuple(texts)))
    return tuple(found)


def _thresholds(key: str, value: Any, where: str) -> tuple[tuple[str, float], ...]:
    """Numbers by name. A dotted name without quotation marks is a table in TOML: both ways of writing mean the same."""
    found: list[tuple[str, float]] = []
    for name, each in _table(key, value, where).items():
        if isinstance(each, dict):
            found += [(f"{name}.{rest}", number) for rest, number in _thresholds(key, each, where)]
        elif isinstance(each, int | float) and not isinstance(each, bool):
            found.append((name, each))
        else:
            raise LawfulError("config-value", f"the threshold `{name}` must be a number", where=where)
    return tuple(found)


def _one_of(choices: tuple[str, ...]) -> Read:
    def read(key: str, value: Any, where: str) -> str:
        if not isinstance(value, str) or value not in choices:
            known = ", ".join(f'"{choice}"' for choice in choices)
            hint = None
            if isinstance(value, str):
                from lawful.diagnostics import did_you_mean

                meant = did_you_mean(value, choices)
                hint = f'did you mean "{meant}"?' if meant else None
            raise LawfulError("config-value", f"`{key}` must be one of {known}", where=where, hint=hint)
        return value

    return read


KEYS: dict[str, Read] = {
    "laws": _strings,
    "calls": _strings,
    "public": _strings,
    "fields": _strings,
    "include": _strings,
    "exclude": _strings,
    "on-violation": _one_of(ON_VIOLATION),
    "fail-on": _one_of(FAIL_ON),
    "history": _at_least(0),
    "trace": _string,
    "baseline": _string,
    "ignore": _strings,
    "buffer": _at_least(1),
    "when-full": _one_of(WHEN_FULL),
    "core": _one_of(CORES),
    "functions": _strings,
    "groups": _groups,
    "learn": _table,
    "sampling": _table,
}

LEARN_KEYS: dict[str, Read] = {
    "window": _whole,
    "budget": _whole,
    "templates": _strings,
    "without-templates": _strings,
    "strategy": _string,
    "thresholds": _thresholds,
    "seed": _whole,
    "tune": _flag,
    "joins": _strings,
    "store": _string,
    "always": _flag,
}

SAMPLING_KEYS: dict[str, Read] = {
    "confidence": _number,
    "error-rate": _number,
    "policy": _string,
    "overhead": _share,
    "seed": _whole,
    "store": _string,
}

SAMPLING_NAMES = tuple(key.replace("-", "_") for key in SAMPLING_KEYS)
LEARN_NAMES = tuple(key.replace("-", "_") for key in LEARN_KEYS)


def _unknown(key: str, where: str, keys: dict[str, Read]) -> LawfulError:
    from lawful.diagnostics import did_you_mean, printable

    meant = did_you_mean(key.replace("_", "-"), keys) if key.replace("_", "-") not in keys else key.replace("_", "-")
    hint = f"did you mean `{meant}`?" if meant else f"known are {', '.join(keys)}"
    return LawfulError("config-unknown-key", f"`{printable(key)}` is no setting of Lawful", where=where, hint=hint)


def _where(path: str, text: str, key: str, table: str = "tool.lawful") -> str:
    """The line on which a key of the table stands, as far as that can be told without a parser that keeps positions."""
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


def combined(base: Config, given: Config) -> Config:
    """A project's configuration with what was given besides: lists add up, for all else what was given comes first."""
    values = _combined(base, given, KEYS)
    values["learn"] = LearnConfig(**_combined(base.learn, given.learn, LEARN_KEYS))
    values["sampling"] = SamplingConfig(**_combined(base.sampling, given.sampling, SAMPLING_KEYS))
    return Config(**values, file=base.file)


def _combined(base: Any, given: Any, keys: dict[str, Read]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key in keys:
        name = key.replace("-", "_")
        below, above = getattr(base, name), getattr(given, name)
        if key in ("thresholds", "groups"):
            values[name] = tuple(dict((*below, *above)).items())
        elif isinstance(above, tuple):
            values[name] = tuple(dict.fromkeys((*below, *above)))
        else:
            values[name] = below if above is None else above
    return values

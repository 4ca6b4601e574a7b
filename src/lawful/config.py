"""The table `[tool.lawful]` of a project's pyproject.toml: what is watched when no flag says otherwise."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from lawful.errors import LawfulError

FILE = "pyproject.toml"

ON_VIOLATION = ("report", "raise", "stop")
FAIL_ON = ("finding", "never")
WHEN_FULL = ("block", "drop")
CORES = ("monitoring", "profile", "python")


@dataclass(frozen=True)
class Config:
    """What a project asks for. None: it does not say."""

    laws: tuple[str, ...] = ()  # names of the catalogue, or files as paths from the current folder
    calls: tuple[str, ...] = ()
    public: tuple[str, ...] = ()
    fields: tuple[str, ...] = ()
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    on_violation: Literal["report", "raise", "stop"] | None = None
    fail_on: str | None = None
    history: int | None = None
    trace: str | None = None
    buffer: int | None = None
    when_full: str | None = None
    core: str | None = None
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
            raise _unknown(key, where)
        values[key.replace("-", "_")] = KEYS[key](key, value, where)
    folder = os.path.dirname(path)
    if "laws" in values:
        values["laws"] = tuple(_located(law, folder) for law in values["laws"])
    if "trace" in values:
        values["trace"] = os.path.join(folder, values["trace"])
    return Config(**values)


def _located(law: str, folder: str) -> str:
    """A file's name as it is from here. What looks like no file, and is none, is a name of the catalogue."""
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
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise LawfulError("config-value", f"`{key}` must be a whole number, {least} or more", where=where)
        return value

    return read


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
    "buffer": _at_least(1),
    "when-full": _one_of(WHEN_FULL),
    "core": _one_of(CORES),
}


def _unknown(key: str, where: str) -> LawfulError:
    from lawful.diagnostics import did_you_mean, printable

    meant = did_you_mean(key.replace("_", "-"), KEYS) if key.replace("_", "-") not in KEYS else key.replace("_", "-")
    hint = f"did you mean `{meant}`?" if meant else f"known are {', '.join(KEYS)}"
    return LawfulError("config-unknown-key", f"`{printable(key)}` is no setting of Lawful", where=where, hint=hint)


def _where(path: str, text: str, key: str) -> str:
    """The line on which a key of the table stands, as far as that can be told without a parser that keeps positions."""
    from lawful.diagnostics import printable

    inside = False
    for number, line in enumerate(text.split("\n"), 1):
        words = line.strip()
        if words.startswith("["):
            inside = "".join(words.partition("#")[0].split()).replace('"', "") == "[tool.lawful]"
        name = words.partition("=")[0].strip().strip("\"'")
        if (inside and name == key) or name == f"tool.lawful.{key}":
            return f"{printable(path)}:{number}"
    return printable(path)


def combined(base: Config, given: Config) -> Config:
    """A project's configuration with what was given besides: lists add up, for all else what was given comes first."""
    values: dict[str, Any] = {"file": base.file}
    for key in KEYS:
        name = key.replace("-", "_")
        below, above = getattr(base, name), getattr(given, name)
        if isinstance(above, tuple):
            values[name] = tuple(dict.fromkeys((*below, *above)))
        else:
            values[name] = below if above is None else above
    return Config(**values)

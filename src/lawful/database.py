"""The SQLite file that keeps things across runs: whose it is, who may write, and how it complains.

Several kinds of memory share one file, each with tables of its own, made when something is first added.
"""

from __future__ import annotations

import os
import sqlite3
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any, Self

from lawful.errors import LawfulError

VERSION = 1
APPLICATION = 0x4C415746  # "LAWF", in the file's header
PATIENCE = 30.0  # seconds to wait for other processes

_MAGIC = b"SQLite format 3\0"
_HEADER = struct.Struct(">60xI4xI")  # of every SQLite file: the user's version, and the application


class Database:
    """An open file. What is wrong with it comes out here, and a file that is refused is left as it is.

    A new one is made when something is first added, so that a run that fails leaves none behind.
    """

    schema = ""
    """What makes the tables of this kind of memory; `table` is one of them."""
    later_schema = ""
    """What makes tables that a file from before there were these does not have yet."""
    table = ""

    def __init__(self, path: str | os.PathLike[str], *, must_exist: bool = False, patience: float = PATIENCE) -> None:
        self.path = os.fspath(path)
        self._patience = patience
        self._connection: sqlite3.Connection | None = None
        if "\0" in self.path:
            raise LawfulError("store-unreadable", "no file can have this name", where=repr(self.path))
        if os.path.lexists(self.path):
            self._look()
            try:
                self._ask()
            except LawfulError:
                self.close()
                raise
        elif must_exist:
            raise LawfulError("store-unreadable", "there is no such file", where=self.path)
        else:
            folder = os.path.dirname(self.path) or "."
            if not os.path.isdir(folder):
                raise LawfulError("store-unreadable", "its folder does not exist", where=self.path)
            if not os.access(folder, os.W_OK):
                raise LawfulError("store-unreadable", "its folder may not be written", where=self.path)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
        if isinstance(error, LawfulError) and error.slug == "store-unreadable" and error.where is None:
            error.where = self.path  # those who read its contents do not know the path

    def close(self) -> None:
        """Let go of the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _look(self) -> None:
        """Refuse what is not ours by its first bytes, before SQLite opens it: that might tidy up beside it."""
        try:
            if os.path.isdir(self.path):
                raise LawfulError("store-unreadable", "a directory is no store", where=self.path)
            with open(self.path, "rb") as file:
                head = file.read(_HEADER.size)
        except OSError as error:
            raise LawfulError("store-unreadable", error.strerror or str(error), where=self.path) from error
        if not head:  # as `mktemp` makes it, or another process that has just begun
            return
        if len(head) < _HEADER.size or not head.startswith(_MAGIC):
            raise self._not_ours("this is no SQLite file")
        version, application = _HEADER.unpack(head)
        if application != APPLICATION:
            raise self._not_ours("this is a database of something else")
        if version != VERSION:
            raise self._other_version(version, VERSION)

    def _look_inside(self, connection: sqlite3.Connection) -> None:
        """Refuse tables that cannot be used; asked before anything is read or changed."""

    def _ask(self) -> None:
        """Could it be changed? Nothing is: of an empty file even a commit would make a database that is nobody's."""
        connection = self._connect()
        with self._translated_errors():
            connection.execute("BEGIN IMMEDIATE")
            try:
                connection.execute("SELECT count(*) FROM sqlite_master")
                self._look_inside(connection)
            finally:
                connection.execute("ROLLBACK")

    def _not_ours(self, message: str) -> LawfulError:
        return LawfulError("store-not-ours", message, where=self.path, hint="nothing was changed; name another file")

    def _other_version(self, found: object, wanted: int) -> LawfulError:
        return LawfulError(
            "store-version",
            f"this store has version {found}, and this Lawful reads and writes version {wanted}",
            where=self.path,
            hint="begin a new store, or use the Lawful that made it",
        )

    def _connect(self) -> sqlite3.Connection:
        if self._connection is None:
            with self._translated_errors():
                path = os.path.abspath(self.path)
                self._connection = sqlite3.connect(path, timeout=self._patience, isolation_level=None)
        return self._connection

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Make the tables, if they are not there; another process may have made them since this one looked."""
        schema = self.later_schema
        if _has(connection, self.table):
            self._look_inside(connection)
        else:
            schema = self.schema + schema
            for setting, value in (("application_id", APPLICATION), ("user_version", VERSION)):
                connection.execute(f"PRAGMA {setting} = {value}")
        for statement in filter(None, map(str.strip, schema.split(";"))):
            connection.execute(statement)

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """All or nothing, and alone: a process that reads counts to change them must not meet another one."""
        connection = self._connect()
        with self._translated_errors():
            connection.execute("BEGIN IMMEDIATE")
            try:
                self._prepare(connection)
                yield connection
                connection.execute("COMMIT")
            except BaseException:
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """All that is read in here is of one moment."""
        connection = self._connection
        if connection is None or connection.in_transaction:
            yield
            return
        with self._translated_errors():
            connection.execute("BEGIN")
            try:
                yield
            finally:
                connection.execute("ROLLBACK")

    def _rows(self, query: str, values: tuple[object, ...] = ()) -> list[tuple[Any, ...]]:
        """What a query finds; tables that have not been made yet are empty."""
        if self._connection is None:
            return []
        with self._translated_errors():
            if not _has(self._connection, self.table):
                return []
            return self._connection.execute(query, values).fetchall()

    def _table(self, table: str, columns: str) -> list[tuple[Any, ...]]:
        """All rows of a table that older files may not have."""
        there = self._rows("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (table,))
        return self._rows(f"SELECT {columns} FROM {table}") if there else []

    def _overlap(self, run: str, source: str | None, why: str, hint: str) -> LawfulError:
        """A run, of the file `source` if it is not the present one, is in it already."""
        which = "the run" if source is None else f"a run of {source}"
        message = f"{which} is in it already, and {why}: {run}"
        return LawfulError("store-overlap", message, where=self.path, hint=hint)

    @contextmanager
    def _translated_errors(self) -> Iterator[None]:
        """Turn errors of SQLite into errors with a slug."""
        try:
            yield
        except sqlite3.Error as error:
            name = getattr(error, "sqlite_errorname", "")
            if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
                raise LawfulError(
                    "store-locked",
                    f"another process has held the store for {self._patience:g} seconds",
                    where=self.path,
                    hint="try again when it is done",
                ) from error
            if name.startswith("SQLITE_NOTADB"):
                raise self._not_ours("this is no SQLite file") from error
            raise LawfulError("store-unreadable", str(error), where=self.path) from error


def _has(connection: sqlite3.Connection, table: str) -> bool:
    found = connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (table,))
    return found.fetchone() is not None


def row_number(connection: sqlite3.Connection, table: str, **columns: object) -> int:
    """The id of the row with these values; it is added if there is none."""
    names, values = ", ".join(columns), tuple(columns.values())
    where = " AND ".join(f"{name} = ?" for name in columns)
    found = connection.execute(f"SELECT id FROM {table} WHERE {where}", values).fetchone()
    if found is not None:
        return int(found[0])
    marks = ", ".join("?" * len(values))
    return connection.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", values).lastrowid or 0

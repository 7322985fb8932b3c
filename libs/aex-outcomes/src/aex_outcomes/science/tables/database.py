"""A database in memory that can open one file and nothing else, and that stops when its time is over."""

import resource
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import duckdb

from aex_outcomes.confinement.lockdown import address_space
from aex_outcomes.science.limits import DataLimits
from aex_outcomes.science.tables.errors import DataError, out_of_memory

_LOOK_S = 0.1
_LEAST_MB = 16
_SHARE = 0.6
"""Of the memory that this process may still take: the rest is for what is handed to the database."""


class Deadline:
    """Processor time for the files of one owner: it passes while one of them is read."""

    def __init__(self, cpu_seconds: float) -> None:
        self._left = cpu_seconds
        self._since: float | None = None

    @contextmanager
    def running(self) -> Iterator[None]:
        """Within the block time passes. Blocks may lie in each other."""
        if self._since is not None:
            yield
            return
        self._since = time.process_time()
        try:
            yield
        finally:
            self._left -= time.process_time() - self._since
            self._since = None

    @property
    def over(self) -> bool:
        """Whether nothing is left."""
        since = self._since
        return self._left <= (0 if since is None else time.process_time() - since)

    def check(self) -> None:
        """Raises `DataError` when it is over."""
        if self.over:
            raise DataError("timed_out", "reading the data took longer than it may; give fewer rows or columns")


class Database:
    """One connection, locked before it is handed out. SQL is the platform's own; names and values go as parameters."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, deadline: Deadline) -> None:
        self._connection = connection
        self._deadline = deadline

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a statement. Raises `DataError` for time and memory, `duckdb.Error` for the rest."""
        self._deadline.check()
        try:
            return self._connection.execute(sql, list(values)).fetchall()
        except (duckdb.OutOfMemoryException, MemoryError):
            raise out_of_memory() from None
        except duckdb.InterruptException:
            self._deadline.check()
            raise

    def row(self, sql: str, values: Sequence[Any] = ()) -> tuple[Any, ...]:
        """The one row of an aggregate."""
        return self.rows(sql, values)[0]


@contextmanager
def locked_database(path: str, limits: DataLimits, deadline: Deadline) -> Iterator[Database]:
    """A database that may read this one file: no other, no network, no extension, no disk, one thread."""
    settings: dict[str, str | bool | int | float | list[str]] = {
        "threads": "1",
        "memory_limit": f"{_affordable_mb(limits.memory_mb)}MB",
        "python_enable_replacements": "false",  # a table's name never finds a Python variable
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
    }
    with duckdb.connect(":memory:", config=settings) as connection:
        # In this order: paths cannot be allowed any more once access is off, and nothing can be set once it is locked.
        connection.execute("SET temp_directory = ''")
        connection.execute(f"SET allowed_paths = [{sql_text(path)}]")
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        with _interrupted(connection, deadline):
            yield Database(connection, deadline)


@cache
def _affordable_mb(most: int) -> int:
    """So much that the database says that it has too little before the process is refused memory.

    By what was there for the first examination of this process: what that gives back stays its address space, counts
    against its bound, and serves the next one.
    """
    bound, _ = resource.getrlimit(resource.RLIMIT_AS)
    used = address_space()
    if bound == resource.RLIM_INFINITY or used is None:
        return most
    return max(_LEAST_MB, min(most, int(_SHARE * (bound - used)) >> 20))


@contextmanager
def _interrupted(connection: duckdb.DuckDBPyConnection, deadline: Deadline) -> Iterator[None]:
    """Stops what the connection does when the time is over: a single statement can take all of it."""
    done = threading.Event()

    def watch() -> None:
        while not done.wait(_LOOK_S):
            if deadline.over:
                connection.interrupt()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def sql_text(text: str) -> str:
    """A text as an SQL literal: for the settings, which take no parameters."""
    return "'" + text.replace("'", "''") + "'"

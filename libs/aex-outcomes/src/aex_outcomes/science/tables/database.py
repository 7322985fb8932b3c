"""Database in memory that can open one file and nothing else, with a limit of processor time."""

import resource
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import duckdb

from aex_outcomes.confinement.lockdown import measure_address_space
from aex_outcomes.science.confined import DataLimits
from aex_outcomes.science.tables.file_checks import DataError, memory_error

_POLL_SECONDS = 0.1
_MIN_MB = 16
_MEMORY_SHARE = 0.6
"""Share of the process's remaining memory; the rest is for data handed to the database."""


class Deadline:
    """Processor time for the files of one owner, which counts only while one of them is read."""

    def __init__(self, cpu_seconds: float) -> None:
        self._left = cpu_seconds
        self._since: float | None = None

    @contextmanager
    def running(self) -> Iterator[None]:
        """Count the time within the block. Blocks may be nested."""
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
    def is_over(self) -> bool:
        since = self._since
        return self._left <= (0 if since is None else time.process_time() - since)

    def check(self) -> None:
        """Raise `DataError` when no time is left."""
        if self.is_over:
            raise DataError("timed_out", "reading the data took longer than it may; give fewer rows or columns")


class LockedDatabase:
    """Locked connection. SQL comes only from this package; names and values are parameters."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, deadline: Deadline) -> None:
        self._connection = connection
        self._deadline = deadline

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a statement. Raises `DataError` for time and memory, `duckdb.Error` for the rest."""
        self._deadline.check()
        try:
            return self._connection.execute(sql, list(values)).fetchall()
        except (duckdb.OutOfMemoryException, MemoryError):
            raise memory_error() from None
        except duckdb.InterruptException:
            self._deadline.check()
            raise

    def row(self, sql: str, values: Sequence[Any] = ()) -> tuple[Any, ...]:
        """Return the one row of an aggregate."""
        return self.rows(sql, values)[0]


@contextmanager
def locked_database(path: str, limits: DataLimits, deadline: Deadline) -> Iterator[LockedDatabase]:
    """Open a database that may read this one file: no network, no extension, no disk, one thread."""
    settings: dict[str, str | bool | int | float | list[str]] = {
        "threads": "1",
        "memory_limit": f"{_affordable_mb(limits.memory_mb)}MB",
        "python_enable_replacements": "false",  # a table's name never finds a Python variable
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
    }
    with duckdb.connect(":memory:", config=settings) as connection:
        # In this order: no path can be allowed once access is off, and nothing can be set once it is locked.
        connection.execute("SET temp_directory = ''")
        quoted = path.replace("'", "''")  # settings take no parameters
        connection.execute(f"SET allowed_paths = ['{quoted}']")
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        with _interrupt_when_over(connection, deadline):
            yield LockedDatabase(connection, deadline)


@cache
def _affordable_mb(limit_mb: int) -> int:
    """Return the database's limit, so low that it reports an error before the process is refused memory.

    Cached from the first examination: memory that it frees stays in the address space and serves the next one.
    """
    bound, _ = resource.getrlimit(resource.RLIMIT_AS)
    used = measure_address_space()
    if bound == resource.RLIM_INFINITY or used is None:
        return limit_mb
    return max(_MIN_MB, min(limit_mb, int(_MEMORY_SHARE * (bound - used)) >> 20))


@contextmanager
def _interrupt_when_over(connection: duckdb.DuckDBPyConnection, deadline: Deadline) -> Iterator[None]:
    """Interrupt the connection when the time is over: a single statement can use all of it."""
    done = threading.Event()

    def watch() -> None:
        while not done.wait(_POLL_SECONDS):
            if deadline.is_over:
                connection.interrupt()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()

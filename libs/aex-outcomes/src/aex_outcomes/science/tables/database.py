"""In-memory database that may open given files and nothing else, with a limit of processor time."""

import resource
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, NamedTuple

import duckdb

from aex_outcomes.confinement.lockdown import measure_address_space
from aex_outcomes.science.confined import DataLimits
from aex_outcomes.science.tables.file_checks import DataError, out_of_memory_error

_POLL_SECONDS = 0.1
_IDLE_SHARE = 0.01
"""Share of an interval below which the process counts as idle; the check itself takes less."""
_MIN_MB = 16
_ZONED = "TIMESTAMP WITH TIME ZONE"
_MEMORY_SHARE = 0.6
"""Share of the process's remaining memory for the database; the rest is for data passed to it."""


class Deadline:
    """Limit of processor time for the files of an owner, or for a query.

    Time in `count_time` blocks counts.

    `with_idle_time`: intervals without any processor time, as of a query that sleeps, count in full.
    """

    def __init__(self, cpu_seconds: float, *, with_idle_time: bool = False) -> None:
        self._left = cpu_seconds
        self._since: float | None = None
        self._with_idle_time = with_idle_time
        self._last_seen = time.process_time()

    @contextmanager
    def count_time(self) -> Iterator[None]:
        """Count the processor time that passes within the block. Blocks may be nested."""
        if self._since is not None:
            yield
            return
        self._since = time.process_time()
        try:
            yield
        finally:
            self._left -= time.process_time() - self._since
            self._since = None

    def count_idle_interval(self, seconds: float) -> None:
        """Count an interval that ends now if the process was idle in it.

        A process that waits for a processor is not idle: it gets a share of it even on a busy machine.
        """
        now = time.process_time()
        if self._with_idle_time and self._since is not None and now - self._last_seen < _IDLE_SHARE * seconds:
            self._left -= seconds
        self._last_seen = now

    @property
    def is_over(self) -> bool:
        since = self._since
        return self._left <= (0 if since is None else time.process_time() - since)

    def raise_if_over(self) -> None:
        """Raise `DataError` with the code `timed_out` if no time is left."""
        if self.is_over:
            raise DataError("timed_out", "reading the data took longer than it may; give fewer rows or columns")


class SelectedRows(NamedTuple):
    """Names of the columns of a result, and its rows."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]


class LockedDatabase:
    """Connection to a locked database. SQL comes only from this package, except for `select_rows`."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, deadline: Deadline) -> None:
        self._connection = connection
        self._deadline = deadline

    def fetch_rows(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a statement and return its rows.

        Raises `DataError` if time or memory runs out, and `duckdb.Error` for any other failure.
        """
        self._deadline.raise_if_over()
        try:
            return self._connection.execute(sql, list(values)).fetchall()
        except (duckdb.OutOfMemoryException, MemoryError):
            raise out_of_memory_error() from None
        except duckdb.InterruptException:
            self._deadline.raise_if_over()
            raise

    def select_rows(self, statement: duckdb.Statement, max_rows: int) -> SelectedRows:
        """Run a SELECT statement of a query that may be hostile, and return up to `max_rows` of its rows.

        Timestamps with a zone have none afterwards and are in UTC, because Python's client needs a library for them.
        Raises as `fetch_rows`.
        """
        self._deadline.raise_if_over()
        try:
            relation = self._connection.sql(statement)
            names, types = tuple(relation.columns), [str(each) for each in relation.types]
            if any(_ZONED in each for each in types):
                plain = [each.replace(_ZONED, "TIMESTAMP") for each in types]
                relation = relation.project(", ".join(f"CAST(#{at} AS {each})" for at, each in enumerate(plain, 1)))
            return SelectedRows(names, relation.limit(max_rows).fetchall())
        except duckdb.InterruptException:
            self._deadline.raise_if_over()
            raise

    def fetch_row(self, sql: str, values: Sequence[Any] = ()) -> tuple[Any, ...]:
        """Run a statement that yields at least one row, such as an aggregate, and return the first."""
        return self.fetch_rows(sql, values)[0]


@contextmanager
def open_locked_database(paths: Sequence[str], limits: DataLimits, deadline: Deadline) -> Iterator[LockedDatabase]:
    """Open an in-memory database for the block; it may read the files at `paths`, and nothing else.

    It has one thread, and loads no extensions. A statement is interrupted when `deadline` is over.
    """
    settings: dict[str, str | bool | int | float | list[str]] = {
        "threads": "1",
        "memory_limit": f"{_affordable_mb(limits.memory_mb)}MB",
        "python_enable_replacements": "false",  # a table's name never finds a Python variable
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "ieee_floating_point_ops": "true",  # x / 0 and ln(0) are not finite, and no error
    }
    with duckdb.connect(":memory:", config=settings) as connection:
        # In this order: no path can be allowed once access is off, and nothing can be set once it is locked.
        connection.execute("SET temp_directory = ''")
        connection.execute("SET TimeZone = 'UTC'")
        quoted = ", ".join("'" + path.replace("'", "''") + "'" for path in paths)  # settings take no parameters
        connection.execute(f"SET allowed_paths = [{quoted}]")
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        with _interrupt_when_over(connection, deadline):
            yield LockedDatabase(connection, deadline)


@cache
def _affordable_mb(limit_mb: int) -> int:
    """Return a memory limit in MB by which the database fails before the process runs out of memory.

    It is cached, because memory that the first examination frees stays in the address space and is used again.
    """
    bound, _ = resource.getrlimit(resource.RLIMIT_AS)
    used = measure_address_space()
    if bound == resource.RLIM_INFINITY or used is None:
        return limit_mb
    return max(_MIN_MB, min(limit_mb, int(_MEMORY_SHARE * (bound - used)) >> 20))


@contextmanager
def _interrupt_when_over(connection: duckdb.DuckDBPyConnection, deadline: Deadline) -> Iterator[None]:
    """Interrupt the connection's statement once the deadline is over; a thread checks during the block."""
    done = threading.Event()

    def watch() -> None:
        while not done.wait(_POLL_SECONDS):
            deadline.count_idle_interval(_POLL_SECONDS)
            if deadline.is_over:
                connection.interrupt()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()

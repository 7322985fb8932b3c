"""Port of runners of untrusted SQL: tables, result and faults of a query."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

MAX_ROWS = 100_000
"""Maximum rows of a query's result."""
MAX_SQL_LENGTH = 100_000
"""Maximum characters of a query."""
QUERY_SECONDS = 10.0
"""Maximum processor time of a query."""


class QueryFault(StrEnum):
    """Reason for which a query has no result."""

    NOT_ONE_SELECT = "not_one_select"
    """The text is not exactly one SELECT statement."""
    SYNTAX = "syntax"
    """The text is no SQL."""
    UNKNOWN_NAME = "unknown_name"
    """A table, column or function does not exist, or does not accept its arguments."""
    FORBIDDEN = "forbidden"
    """The query needs files, extensions, other databases or settings."""
    DATA = "data"
    """A value cannot be converted or computed."""
    TIMED_OUT = "timed_out"
    OUT_OF_MEMORY = "out_of_memory"
    TOO_MANY_ROWS = "too_many_rows"
    TOO_LARGE = "too_large"
    """The result has too many bytes."""
    CRASHED = "crashed"
    """The database crashed, twice."""
    OTHER = "other"
    TABLES = "tables"
    """The tables could not be created, by no fault of the query."""


class QueryFailed(Exception):
    """Error of a query without a result. `detail` may quote the tables' data."""

    def __init__(self, fault: QueryFault, detail: str = "") -> None:
        super().__init__(fault.value)
        self.fault = fault
        self.detail = detail


class QueryLost(Exception):
    """Error of a query whose worker was lost, through no fault of the query; the message quotes no data."""


@dataclass(frozen=True, slots=True)
class QueryTable:
    """Table that a query may read."""

    name: str
    columns: Mapping[str, str]
    """SQL type of each column, by name and in order."""
    rows: Sequence[Sequence[Any]]
    """Rows of JSON values."""


@dataclass(frozen=True, slots=True)
class QueryResult:
    """Result of a query."""

    columns: tuple[str, ...]
    rows: Sequence[Sequence[Any]]
    """Cells as `match_results` takes them."""


class QueryRunner(Protocol):
    """Runner of untrusted queries."""

    async def run(self, query: str, tables: Sequence[QueryTable]) -> QueryResult:
        """Run a query on a new database with these tables alone, and return its result.

        Raises `QueryFailed`, `QueryLost` and `SandboxUnavailable`.
        """
        ...

"""Group commits: several transactions are applied in one SQLite transaction, and fail independently."""

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import cast

from aex_runtime.sqlite_file import write_transaction
from aex_runtime.store.port import AlreadyExists, Collection, DocumentKey, Write
from aex_runtime.store.sqlite_queries import create_indexes_sql, encode_index_fields

_VERSION = "SELECT version FROM documents WHERE collection = ? AND key = ?"
_DELETE = "DELETE FROM documents WHERE collection = ? AND key = ?"
_INSERT = "INSERT INTO documents (collection, key, version, fields, body) VALUES (?1, ?2, ?3, ?4, ?5)"
_CREATE = f"{_INSERT} ON CONFLICT (collection, key) DO NOTHING"
_PUT = f"{_INSERT} ON CONFLICT (collection, key) DO UPDATE SET version = ?3, fields = ?4, body = ?5"


@dataclass(frozen=True, slots=True)
class Commit:
    """A transaction to apply."""

    expected: Sequence[tuple[DocumentKey, int]] = ()
    """The versions that documents must have (0: absent); else the commit is a conflict."""
    writes: Sequence[Write] = ()
    declared: Sequence[Collection] = ()
    """Collections whose indexes must exist, in addition to those of the writes."""
    probe: bool = False
    """Write to the file even without `writes`, to check that it can be written."""


def has_expected_versions(connection: sqlite3.Connection, expected: Sequence[tuple[DocumentKey, int]]) -> bool:
    """Return whether all documents have the expected versions; 0 means absent.

    Call it within a SQL transaction, so that all versions are of one moment.
    """
    return all(_version_of(connection, key) == version for key, version in expected)


class GroupWriter:
    """A callable that applies a group of commits in one SQL transaction, with one sync of the disk."""

    def __init__(self) -> None:
        self._indexed: set[Collection] = set()

    def __call__(self, connection: sqlite3.Connection, commits: Sequence[Commit]) -> list[bool | Exception]:
        """Apply the commits; return True, False (a conflict) or an error for each.

        Creates missing indexes of their collections. Raises `sqlite3.Error` if the whole group failed.
        """
        new = {each for commit in commits for each in commit.declared}
        new |= {each.collection for commit in commits for each in commit.writes if each.kind != "delete"}
        try:
            results = _transact(connection, commits, new - self._indexed, _apply_commit)
        except _HalfWritten:  # rare; a savepoint for each costs as much as a small commit
            results = _transact(connection, commits, new - self._indexed, _apply_in_savepoint)
        self._indexed |= new
        return results


_Apply = Callable[[sqlite3.Connection, Commit, int], bool | Exception]


class _HalfWritten(Exception):
    """A commit that failed after some of its writes were applied."""


def _transact(
    connection: sqlite3.Connection, commits: Sequence[Commit], new: Iterable[Collection], apply: _Apply
) -> list[bool | Exception]:
    with write_transaction(connection):
        for statement in (sql for collection in new for sql in create_indexes_sql(collection)):
            connection.execute(statement)
        return _apply_all(connection, commits, apply)


def _apply_all(connection: sqlite3.Connection, commits: Sequence[Commit], apply: _Apply) -> list[bool | Exception]:
    start = latest = connection.execute("SELECT version FROM latest").fetchall()[0][0]
    results: list[bool | Exception] = []
    for commit in commits:
        results.append(apply(connection, commit, latest + 1))
        latest += results[-1] is True and (commit.probe or bool(commit.writes))
    if latest != start:
        connection.execute("UPDATE latest SET version = ?", (latest,))
    return results


def _apply_commit(connection: sqlite3.Connection, commit: Commit, version: int) -> bool | Exception:
    """Apply one commit; return True, False after a conflict, or the error for its caller.

    Raises `_HalfWritten` if some of its writes were applied.
    """
    changed = connection.total_changes
    try:
        if not has_expected_versions(connection, commit.expected):
            return False
        for write in commit.writes:
            _apply_write(connection, write, version)
    except sqlite3.Error:
        raise
    except Exception as error:
        if connection.total_changes > changed:
            raise _HalfWritten from error
        return error  # for the caller of this commit
    return True


def _apply_in_savepoint(connection: sqlite3.Connection, commit: Commit, version: int) -> bool | Exception:
    connection.execute("SAVEPOINT alone")
    try:
        result = _apply_commit(connection, commit, version)
    except _HalfWritten as error:
        connection.execute("ROLLBACK TO alone")
        result = cast(Exception, error.__cause__)
    connection.execute("RELEASE alone")
    return result


def _version_of(connection: sqlite3.Connection, key: DocumentKey) -> int:
    try:
        found = connection.execute(_VERSION, key).fetchall()
    except UnicodeEncodeError:  # a key with lone surrogates, which limits.py refuses to write
        return 0
    return int(found[0][0]) if found else 0


def _apply_write(connection: sqlite3.Connection, write: Write, version: int) -> None:
    if write.kind == "delete":
        connection.execute(_DELETE, write.document_key)
        return
    row = (*write.document_key, version, encode_index_fields(write.fields), write.body)
    if write.kind == "create":
        if connection.execute(_CREATE, row).rowcount == 0:
            raise AlreadyExists(*write.document_key)
    else:
        connection.execute(_PUT, row)

"""The one writer of a process: transactions that wait are committed together, each apart from the others."""

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import cast

from aex_runtime.store.buffer import Place, Write
from aex_runtime.store.port import AlreadyExists, Collection
from aex_runtime.store.sqlite_queries import encode_fields, index_sql

_VERSION = "SELECT version FROM documents WHERE collection = ? AND key = ?"
_DELETE = "DELETE FROM documents WHERE collection = ? AND key = ?"
_CREATE = (
    "INSERT INTO documents (collection, key, version, fields, body) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (collection, key) DO NOTHING"
)
_PUT = (
    "INSERT INTO documents (collection, key, version, fields, body) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (collection, key) DO UPDATE"
    " SET version = excluded.version, fields = excluded.fields, body = excluded.body"
)


@dataclass(frozen=True, slots=True)
class Commit:
    """A transaction to apply: what must still be so, and what to write. `declared` are collections to index.

    `sounding`: nothing is to be written, and yet the file is: whether it can be is all that is asked.
    """

    expected: Sequence[tuple[Place, int]] = ()
    writes: Sequence[Write] = ()
    declared: Sequence[Collection] = ()
    sounding: bool = False


def is_current(connection: sqlite3.Connection, expected: Sequence[tuple[Place, int]]) -> bool:
    """Whether all documents have the expected versions (0: not there). One moment, within a transaction."""
    return all(_version_of(connection, place) == version for place, version in expected)


class GroupWriter:
    """Applies groups of commits, with one sync of the disk for each group."""

    def __init__(self) -> None:
        self._indexed: set[Collection] = set()

    def __call__(self, connection: sqlite3.Connection, commits: Sequence[Commit]) -> list[bool | Exception]:
        """For each commit True, False where something expected has changed, or why it was refused.

        Raises `sqlite3.Error` where the group failed as a whole; then none of it is written.
        """
        new = {collection for commit in commits for collection in _collections(commit)} - self._indexed
        try:
            answers = _transacted(connection, commits, new, _apply_commit)
        except _HalfWritten:  # which hardly ever happens; and a savepoint for each costs as much as a small commit
            answers = _transacted(connection, commits, new, _apply_alone)
        self._indexed |= new
        return answers


_Apply = Callable[[sqlite3.Connection, Commit, int], bool | Exception]


class _HalfWritten(Exception):
    """A commit was refused after some of it had been written."""


def _transacted(
    connection: sqlite3.Connection, commits: Sequence[Commit], new: Iterable[Collection], apply: _Apply
) -> list[bool | Exception]:
    """The whole group, or nothing of it: it is undone where this raises."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        for statement in (sql for collection in new for sql in index_sql(collection)):
            connection.execute(statement)
        answers = _apply_all(connection, commits, apply)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    return answers


def _collections(commit: Commit) -> list[Collection]:
    return [*commit.declared, *(write.collection for write in commit.writes if write.kind != "delete")]


def _apply_all(connection: sqlite3.Connection, commits: Sequence[Commit], apply: _Apply) -> list[bool | Exception]:
    start = latest = connection.execute("SELECT version FROM latest").fetchall()[0][0]
    answers: list[bool | Exception] = []
    for commit in commits:
        answer = apply(connection, commit, latest + 1)
        latest += answer is True and (commit.sounding or bool(commit.writes))
        answers.append(answer)
    if latest != start:
        connection.execute("UPDATE latest SET version = ?", (latest,))
    return answers


def _apply_commit(connection: sqlite3.Connection, commit: Commit, version: int) -> bool | Exception:
    """Apply one commit of the group, or nothing of it. Raises `_HalfWritten`."""
    written = 0
    try:
        if not is_current(connection, commit.expected):
            return False
        for write in commit.writes:
            _apply(connection, write, version)
            written += 1
    except sqlite3.Error:
        raise
    except Exception as error:
        if written:
            raise _HalfWritten from error
        return error  # it is this commit's own, and its caller gets it
    return True


def _apply_alone(connection: sqlite3.Connection, commit: Commit, version: int) -> bool | Exception:
    """Apply one commit of the group, or leave no trace of it."""
    connection.execute("SAVEPOINT alone")
    try:
        applied = _apply_commit(connection, commit, version)
    except _HalfWritten as refused:
        connection.execute("ROLLBACK TO alone")
        applied = cast(Exception, refused.__cause__)
    connection.execute("RELEASE alone")
    return applied


def _version_of(connection: sqlite3.Connection, place: Place) -> int:
    try:
        found = connection.execute(_VERSION, place).fetchall()
    except UnicodeEncodeError:  # a key with lone surrogates, which limits.py lets nobody write
        return 0
    return int(found[0][0]) if found else 0


def _apply(connection: sqlite3.Connection, write: Write, version: int) -> None:
    if write.kind == "delete":
        connection.execute(_DELETE, write.place)
        return
    row = (*write.place, version, encode_fields(write.fields), write.body)
    if write.kind == "create":
        if connection.execute(_CREATE, row).rowcount == 0:
            raise AlreadyExists(*write.place)
    else:
        connection.execute(_PUT, row)

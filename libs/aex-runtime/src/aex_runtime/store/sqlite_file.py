"""Opening the file: private, in WAL mode, synced at every commit, its layout versioned."""

import fcntl
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from aex_runtime.store.port import StoreError, StoreUnavailable

_LAYOUT = 1
_SCHEMA = (
    """CREATE TABLE documents (
        id INTEGER PRIMARY KEY,
        collection TEXT NOT NULL,
        key TEXT NOT NULL,
        version INTEGER NOT NULL,
        fields TEXT NOT NULL,
        body BLOB NOT NULL,
        UNIQUE (collection, key)
    ) STRICT""",
    # One version for the whole file: a document made anew never has a version that it had before.
    "CREATE TABLE latest (version INTEGER NOT NULL) STRICT",
    "INSERT INTO latest VALUES (0)",
    f"PRAGMA user_version = {_LAYOUT}",
)


class StoreFile:
    """A file, made at the first connection where there is none; from then on always the same one.

    Were it replaced under a running process, its open connections would go on with a file that has no name any more.
    """

    def __init__(self, path: Path, busy_s: float) -> None:
        self.path = path
        self._busy_s = busy_s
        self._opening = threading.Lock()
        self._identity: tuple[int, int] | None = None
        self._turns: int | None = None

    def connect(self, *, read_only: bool) -> sqlite3.Connection:
        """A connection that belongs to the calling thread. Raises `sqlite3.Error`, `OSError`, `StoreError`."""
        with self._opening:
            if self._identity is None:
                _make(self.path)
            else:
                self.check()
            connection = _open(self.path, self._busy_s, read_only=read_only)
            self._identity = _identity(self.path)
            return connection

    @contextmanager
    def turn(self) -> Iterator[None]:
        """This process's turn to write. Called by one thread. Raises `OSError`.

        Processes take turns by a lock on a file beside the store: the kernel wakes the next one at once. Left to
        SQLite they sleep up to 100 ms and look again, past whoever comes meanwhile (three writers: two thirds of the
        commits a second, and p99 seven times as long). SQLite's own lock still is what keeps the data right.
        """
        if self._turns is None:
            _make_folder(self.path)
            beside = self.path.with_name(f"{self.path.name}-turn")
            self._turns = os.open(beside, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._turns, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._turns, fcntl.LOCK_UN)

    def close(self) -> None:
        """Let go of what turns are taken by, once no thread writes any more."""
        if self._turns is not None:
            os.close(self._turns)
            self._turns = None

    def check(self) -> None:
        """Raise `StoreUnavailable` where the file that was opened no longer is at its path."""
        if self._identity is not None and _identity(self.path) != self._identity:
            raise StoreUnavailable(f"{self.path}: the file is gone, or another one")


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return (found.st_dev, found.st_ino)


def _open(path: Path, busy_s: float, *, read_only: bool) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=busy_s, isolation_level=None, cached_statements=512)
    try:
        connection.execute("PRAGMA journal_mode = WAL").fetchall()
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA journal_size_limit = 67108864")
        connection.execute("PRAGMA cache_size = -16000")
        _lay_out(connection, path)
        connection.execute(f"PRAGMA query_only = {'ON' if read_only else 'OFF'}")
    except BaseException:
        connection.close()
        raise
    return connection


def translated(path: Path, error: Exception) -> StoreError:
    """What a failure of SQLite or of the file system is to the callers of the port: worth a retry, or a bug of ours."""
    text = f"{path}: {getattr(error, 'sqlite_errorname', type(error).__name__)}: {error}"
    code = getattr(error, "sqlite_errorcode", None)
    ours = isinstance(error, sqlite3.Error) and (code is None or code & 0xFF == sqlite3.SQLITE_ERROR)
    return StoreError(text) if ours else StoreUnavailable(text)


def is_busy(error: Exception) -> bool:
    """Whether others held the lock for too long, which says nothing against the connection."""
    return isinstance(error, sqlite3.OperationalError) and error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY


def _make_folder(path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)


def _make(path: Path) -> None:
    _make_folder(path)
    with suppress(FileExistsError):
        # Only ever by O_EXCL: closing a descriptor of a file in use would drop the locks that SQLite holds on it.
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def _lay_out(connection: sqlite3.Connection, path: Path) -> None:
    if _layout(connection) == 0:
        connection.execute("BEGIN IMMEDIATE")
        try:
            if _layout(connection) == 0:  # another process may have been here first
                for statement in _SCHEMA:
                    connection.execute(statement)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
    if (found := _layout(connection)) != _LAYOUT:
        raise StoreError(f"{path} has layout {found}; this build knows {_LAYOUT}")


def _layout(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchall()[0][0])

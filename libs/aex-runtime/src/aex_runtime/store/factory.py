"""The choice of a record store by its URL."""

import re
from pathlib import Path

from aex_runtime.setting_types import PROJECT_ID
from aex_runtime.store.port import Store

_ACCEPTED = "sqlite:///relative/path, sqlite:////absolute/path, firestore://project[/database] or memory:"
_FIRESTORE = re.compile(
    rf"//(?P<project>{PROJECT_ID})"
    r"(?:/(?P<database>\(default\)|[a-z][a-z0-9-]{2,61}[a-z0-9])?)?",
    re.ASCII,
)


def open_store(url: str, emulator: str | None = None) -> Store:
    """Return the store that a URL names; it connects and creates files only at its first use.

    `emulator` is the `host:port` of a Firestore emulator, used instead of Google's server. Raises `ValueError` for any
    other URL, and if the libraries of the store are not installed.
    """
    scheme, _, rest = url.partition(":")
    if scheme == "memory" and rest in {"", "//"}:
        from aex_runtime.store.memory import MemoryStore  # noqa: PLC0415 a process has one kind of store

        return MemoryStore()
    if scheme == "sqlite":
        path = rest.removeprefix("///")
        if path == rest or path in {"", ":memory:"} or path.endswith("/"):
            raise ValueError(f"a SQLite store needs the path of a file: {_ACCEPTED}")
        from aex_runtime.store.sqlite import SQLiteStore  # noqa: PLC0415 a process has one kind of store

        return SQLiteStore(Path(path))
    if scheme == "firestore":
        match = _FIRESTORE.fullmatch(rest)
        if match is None:
            raise ValueError(
                "a Firestore store needs the ids of a project and of a database other than (default):"
                f" firestore://my-project/my-database, not firestore:{rest}"
            )
        try:
            from aex_runtime.store.firestore import FirestoreStore  # noqa: PLC0415 its libraries are an extra
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] not in {"google", "grpc"}:
                raise
            raise ValueError("a Firestore store needs Google's libraries: pip install 'aex-runtime[google]'") from error
        return FirestoreStore(match["project"], match["database"] or "(default)", emulator=emulator)
    raise ValueError(f"unknown store scheme {scheme!r}; a store is {_ACCEPTED}")

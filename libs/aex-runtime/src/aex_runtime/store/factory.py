"""The store that a URL names."""

from pathlib import Path

from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import Store
from aex_runtime.store.sqlite import SQLiteStore

_ACCEPTED = "sqlite:///relative/path, sqlite:////absolute/path or memory:"


def open_store(url: str) -> Store:
    """The store behind a URL. Nothing is touched before its first use. Raises `ValueError` for other URLs."""
    scheme, _, rest = url.partition(":")
    if scheme == "memory" and rest in {"", "//"}:
        return MemoryStore()
    if scheme == "sqlite":
        path = rest.removeprefix("///")
        if path == rest or path in {"", ":memory:"} or path.endswith("/"):
            raise ValueError(f"a SQLite store needs the path of a file: {_ACCEPTED}")
        return SQLiteStore(Path(path))
    if scheme == "firestore":
        raise ValueError(f"firestore: is not in this build; a store is {_ACCEPTED}")
    raise ValueError(f"unknown store scheme {scheme!r}; a store is {_ACCEPTED}")

"""When settlements become visible in a store's file: read beside the services, which answer no request for it."""

import asyncio
import sqlite3
import threading
import time
from contextlib import closing
from pathlib import Path

_EVERY_S = 0.001


class Watch:
    """Notes, by key, when each new document of a collection was committed; seconds of `time.perf_counter`."""

    def __init__(self, file: Path, collection: str) -> None:
        self._file, self._collection = file, collection
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, name="watch", daemon=True)
        self.seen: dict[str, float] = {}

    def __enter__(self) -> "Watch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    async def until(self, keys: set[str], within_s: float) -> None:
        """Wait for all of these. Raises `AssertionError` where some do not come."""
        deadline = time.monotonic() + within_s
        while missing := keys - self.seen.keys():
            if time.monotonic() > deadline:
                raise AssertionError(f"{len(missing)} of {len(keys)} were not settled within {within_s:g} s")
            await asyncio.sleep(5 * _EVERY_S)

    def _look(self) -> None:
        with closing(sqlite3.connect(f"file:{self._file}?mode=ro", uri=True, isolation_level=None)) as connection:
            last, version = 0, None
            while not self._over.wait(_EVERY_S):
                (now,) = connection.execute("PRAGMA data_version").fetchone()
                if now == version:
                    continue
                version = now
                rows = connection.execute(
                    "SELECT id, key FROM documents WHERE id > ? AND +collection = ? ORDER BY id",
                    (last, self._collection),
                ).fetchall()
                at = time.perf_counter()
                self.seen.update((key, at) for _, key in rows)
                last = rows[-1][0] if rows else last

"""A process over memory, or over each of the stores."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from aex_runtime.store.firestore import FirestoreStore
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import Store
from aex_runtime.store.sqlite import SQLiteStore
from tests.services.governance.process import Process, open_process


@pytest.fixture
async def kit(request: pytest.FixtureRequest, tmp_path: Path, project: str) -> AsyncIterator[Process]:
    """Return a process over memory, or over the store that a test names as parameter."""
    store: Store = MemoryStore()
    if (name := getattr(request, "param", "memory")) == "firestore":
        store = FirestoreStore(project, emulator=request.getfixturevalue("emulators").firestore.host)
    elif name == "sqlite":
        store = SQLiteStore(tmp_path / "store.sqlite3")
    try:
        yield open_process(store)
    finally:
        await store.close()

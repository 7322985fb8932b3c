"""A kit on every store: memory, SQLite, and Firestore where its emulator is."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from aex_runtime.store.firestore import FirestoreStore
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import Store
from aex_runtime.store.sqlite import SQLiteStore
from tests.emulators.emulators import Emulators, new_project
from tests.services.governance.process import Process, open_process


@pytest.fixture(params=["memory", "sqlite", pytest.param("firestore", marks=pytest.mark.emulator)])
async def kit(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Process]:
    store = _opened(request, tmp_path)
    try:
        yield open_process(store)
    finally:
        await store.close()


def _opened(request: pytest.FixtureRequest, folder: Path) -> Store:
    if request.param == "firestore":
        emulators: Emulators = request.getfixturevalue("emulators")
        return FirestoreStore(new_project(), emulator=emulators.firestore.host)
    return MemoryStore() if request.param == "memory" else SQLiteStore(folder / "store.sqlite3")

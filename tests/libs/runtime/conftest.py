from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from aex_runtime.store.firestore import FirestoreStore
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import Store
from aex_runtime.store.sqlite import SQLiteStore
from tests.emulators.emulators import Emulators, new_project


@pytest.fixture
def store() -> Store:
    return MemoryStore()


@pytest.fixture(params=["memory", "sqlite", pytest.param("firestore", marks=pytest.mark.emulator)])
async def each_store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    store = _open(request, tmp_path / "store.sqlite3")
    yield store
    await store.close()


def _open(request: pytest.FixtureRequest, path: Path) -> Store:
    if request.param == "memory":
        return MemoryStore()
    if request.param == "sqlite":
        return SQLiteStore(path)
    emulators: Emulators = request.getfixturevalue("emulators")
    return FirestoreStore(new_project(), emulator=emulators.firestore.host)

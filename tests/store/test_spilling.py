from pathlib import Path

import pytest
from obstore.store import MemoryStore as MemoryObjects

from aex_runtime.blobs.objects import ObjectBlobs
from aex_runtime.store.firestore import FirestoreStore
from aex_runtime.store.spill import SpillingStore
from aex_runtime.store.sqlite import SQLiteStore
from tests.emulators.emulators import Emulators, new_project
from tests.store.contract import Opened, StoreContract


class TestSpillingStoreOverSQLite(StoreContract):
    @pytest.fixture
    def opened(self, tmp_path: Path) -> Opened:
        return lambda rerun: SpillingStore(
            SQLiteStore(tmp_path / "store.sqlite3", rerun=rerun), ObjectBlobs(MemoryObjects)
        )


@pytest.mark.emulator
class TestSpillingStoreOverFirestore(StoreContract):
    @pytest.fixture
    def opened(self, emulators: Emulators) -> Opened:
        project = new_project()
        return lambda rerun: SpillingStore(
            FirestoreStore(project, emulator=emulators.firestore.host, rerun=rerun), ObjectBlobs(MemoryObjects)
        )

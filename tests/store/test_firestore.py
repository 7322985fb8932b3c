import pytest

from aex_runtime.store.firestore import FirestoreStore
from tests.emulators.emulators import Emulators, new_project
from tests.store.contract import Opened, Sizes, StoreContract

pytestmark = pytest.mark.emulator


class TestFirestoreStore(StoreContract, Sizes):
    @pytest.fixture
    def opened(self, emulators: Emulators) -> Opened:
        project = new_project()
        return lambda rerun: FirestoreStore(project, emulator=emulators.firestore.host, rerun=rerun)

import pytest

from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import Store
from tests.store.contract import SOON, SizeLimit, StoreContract


class TestMemoryStore(StoreContract, SizeLimit):
    @pytest.fixture
    def store(self) -> Store:
        return MemoryStore(SOON)

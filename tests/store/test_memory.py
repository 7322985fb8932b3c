import pytest

from aex_runtime.store.memory import MemoryStore
from tests.store.contract import Opened, Sizes, StoreContract


class TestMemoryStore(StoreContract, Sizes):
    @pytest.fixture
    def opened(self) -> Opened:
        return MemoryStore

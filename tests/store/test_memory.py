import pytest

from aex_runtime.store.memory import MemoryStore
from tests.store.contract import Opened, SizeLimit, StoreContract


class TestMemoryStore(StoreContract, SizeLimit):
    @pytest.fixture
    def opened(self) -> Opened:
        return MemoryStore

import pytest

from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import Store
from tests.libs.runtime.outbox.process import Outbox


@pytest.fixture
def outbox() -> Outbox:
    return Outbox(MemoryStore())


@pytest.fixture
def each_outbox(each_store: Store) -> Outbox:
    return Outbox(each_store)

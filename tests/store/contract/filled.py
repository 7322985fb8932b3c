import pytest

from aex_runtime.store.port import Store
from tests.store.contract.documents import OTHERS, write


class Filled:
    @pytest.fixture
    async def filled(self, store: Store) -> Store:
        await write(store, "a", state="open", due=3, owner="x")
        await write(store, "b", state="open", due=1, owner="y")
        await write(store, "c", state="done", due=2, owner="x")
        await write(store, "d", state="open", due=3, owner="x")
        await write(store, "e", state="open", owner="x")
        await write(store, "f", state=None, due=9)
        await write(store, "z", collection=OTHERS, state="open", due=0)
        return store

"""Every so often a state is committed, and the event that tells of it is not."""

import random

from aex_runtime.store.port import Collection, Store
from tests.simulation.planted.altered_store import AlteredStore
from tests.simulation.planted.plant import Plant

_ODDS = 0.02


def _forgetting(_: str, store: Store, dice: random.Random) -> Store:
    def kept(collection: Collection, _: str, body: bytes) -> bytes | None:
        forgotten = collection.name.endswith("-outbox") and dice.random() < _ODDS
        return None if forgotten else body

    return AlteredStore(store, kept=kept)


FORGETS_ITS_EVENT = Plant("forgets_its_event", "a state changes, and its event is not in the outbox", store=_forgetting)

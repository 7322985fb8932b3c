"""A projection writes its sums and its watermark one after the other: after a crash between them it counts twice."""

import random

from aex_runtime.store.port import Collection, Store
from aex_settlement.repository.projections import STATES
from tests.simulation.planted.altered_store import AlteredStore
from tests.simulation.planted.plant import Plant

_ODDS = 0.05


def _torn(_: str, store: Store, dice: random.Random) -> Store:
    def kept(collection: Collection, _: str, body: bytes) -> bytes | None:
        lost = collection.name == STATES.collection.name and dice.random() < _ODDS
        return None if lost else body

    return AlteredStore(store, kept=kept)


COUNTS_TWICE_AFTER_A_CRASH = Plant(
    "counts_twice_after_a_crash", "a projection's sums are kept, its watermark is not", store=_torn
)

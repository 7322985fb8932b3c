"""The sealer does not see one in ten of the rows that wait for it: those transactions never reach the journal."""

import random
from hashlib import sha256

from aex_runtime.store.port import Collection, Document, Store
from aex_settlement.repository.journal import UNSEALED
from tests.simulation.planted.altered_store import AlteredStore
from tests.simulation.planted.plant import Plant


def _skipping(_: str, store: Store, __: random.Random) -> Store:
    def shown(collection: Collection, document: Document) -> Document | None:
        skipped = sha256(document.key.encode()).digest()[0] < 26
        return None if collection.name == UNSEALED.collection.name and skipped else document

    return AlteredStore(store, shown=shown)


SEALER_SKIPS = Plant("sealer_skips", "one transaction in ten is never sealed", store=_skipping)

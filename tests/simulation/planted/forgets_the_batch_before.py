"""Each batch of the journal is hashed as if it were the first one: what came before it could be exchanged."""

import random

from aex_runtime.store.port import Collection, Store
from aex_settlement.repository.journal import BATCHES, HEAD
from aex_settlement.rules.journal import GENESIS, batch_hash
from tests.simulation.planted.altered_store import AlteredStore
from tests.simulation.planted.plant import Plant


def _unchained(_: str, store: Store, __: random.Random) -> Store:
    instead: dict[str, str] = {}

    def kept(collection: Collection, _: str, body: bytes) -> bytes | None:
        if collection.name == BATCHES.collection.name:
            batch = BATCHES.model.model_validate_json(body)
            instead[batch.hash] = batch_hash(batch.seq, batch.sealed_at, batch.transactions, GENESIS)
            return BATCHES.encode(batch.model_copy(update={"hash": instead[batch.hash]}))[0]
        if collection.name == HEAD.collection.name:
            head = HEAD.model.model_validate_json(body)
            return HEAD.encode(head.model_copy(update={"hash": instead[head.hash]}))[0]
        return body

    return AlteredStore(store, kept=kept)


FORGETS_THE_BATCH_BEFORE = Plant(
    "forgets_the_batch_before", "a batch's hash says nothing of the batch before it", store=_unchained
)

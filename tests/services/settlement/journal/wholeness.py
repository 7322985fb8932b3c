"""Reading the whole journal back, and seeing that nothing is wrong with it."""

import json
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import chain

from aex_models.settlement import LedgerTransaction
from aex_runtime.store.port import Store, key_of
from aex_settlement.repository.journal import HEAD, HEAD_KEY, UNSEALED, find_batches_after
from aex_settlement.repository.ledger import TRANSACTIONS
from aex_settlement.rules.journal import GENESIS, JournalBatch

ALL = 100_000


@dataclass
class Journal:
    batches: list[JournalBatch] = field(default_factory=list)
    transactions: list[list[LedgerTransaction]] = field(default_factory=list)

    @property
    def sealed(self) -> list[LedgerTransaction]:
        return list(chain.from_iterable(self.transactions))


async def checked_journal(store: Store) -> Journal:
    journal, previous = Journal(), GENESIS
    for seq, batch in enumerate(await find_batches_after(store, 0, ALL), start=1):
        assert batch.seq == seq, f"batch {seq} is missing"
        assert batch.previous_hash == previous, f"batch {seq} does not follow the one before it"
        assert batch.hash == _hash_of(batch, previous), f"batch {seq} was altered"
        assert seq == 1 or batch.sealed_at > journal.batches[-1].sealed_at, "every batch is an instant of its own"
        previous = batch.hash
        journal.batches.append(batch)
        documents = await store.get_many(TRANSACTIONS.collection, [key_of(each.id) for each in batch.transactions])
        for sealed, document in zip(batch.transactions, documents, strict=True):
            assert document is not None, f"{sealed.id} is gone"
            assert sha256(document.body).hexdigest() == sealed.digest, f"{sealed.id} was altered"
        journal.transactions.append([TRANSACTIONS.decode(each).record for each in documents if each is not None])
    head = await HEAD.get(store, HEAD_KEY)
    assert (head.record.hash if head else GENESIS) == previous, "the head is not the last batch"
    await _check_nothing_is_lost(store, journal)
    return journal


def _hash_of(batch: JournalBatch, previous: str) -> str:
    chained = {
        "previous_hash": previous,
        "sealed_at": batch.sealed_at.isoformat(),
        "seq": batch.seq,
        "transactions": [[each.id, each.digest] for each in batch.transactions],
    }
    return sha256(json.dumps(chained, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


async def _check_nothing_is_lost(store: Store, journal: Journal) -> None:
    sealed = [each.id for each in journal.sealed]
    assert len(sealed) == len(set(sealed)), "a transaction is sealed twice"
    rows = await UNSEALED.find(store, order="occurred_at", limit=ALL)
    waiting = [each.id for row in rows for each in row.record.transactions]
    assert not set(sealed) & set(waiting), "a sealed transaction still waits"
    posted = [each.record.id for each in await TRANSACTIONS.find(store, order="occurred_at", limit=ALL)]
    assert sorted(posted) == sorted(sealed + waiting), "a transaction is neither sealed nor waiting"

"""Planted bugs in what a service reads from its store or writes to it."""

import random
from collections.abc import Awaitable, Callable
from datetime import timedelta
from hashlib import sha256

from aex_models.frozen import Instant
from aex_runtime.store.port import Collection, Document, Fields, Store, T, Transaction
from aex_settlement.repository.journal import BATCHES, HEAD, UNSEALED
from aex_settlement.repository.projections import STATES
from aex_settlement.rules.journal import GENESIS, compute_batch_hash
from aex_verification.repository import CONTRACTS
from aex_verification.rules.records import ContractRow
from tests.parts.passing import ForwardingStore
from tests.simulation.planted.altered_store import AlteredStore, change_record
from tests.simulation.planted.plant import Plant

_LATENESS = timedelta(days=10)


def _with_later_deadline(row: ContractRow, by: timedelta) -> ContractRow:
    deadline: Instant = row.state.deadline + by
    return row.model_copy(update={"state": row.state.model_copy(update={"deadline": deadline})})


def _read_later_deadlines(_: str, store: Store, __: random.Random) -> Store:
    seen: set[str] = set()

    def altered(collection: Collection, document: Document) -> Document | None:
        if collection.name != CONTRACTS.collection.name:
            return document
        seen.add(document.key)
        return change_record(CONTRACTS, document, lambda row: _with_later_deadline(row, _LATENESS))

    def kept(collection: Collection, key: str, body: bytes) -> bytes | None:
        if collection.name != CONTRACTS.collection.name or key not in seen:
            return body
        return CONTRACTS.encode(_with_later_deadline(CONTRACTS.model.model_validate_json(body), -_LATENESS))[0]

    return AlteredStore(store, alter_read=altered, kept=kept)


ACCEPTS_LATE_OUTPUT = Plant(
    "accepts_late_output", "a candidate is taken in after the deadline", store=_read_later_deadlines
)


_LOST_WATERMARKS = 0.05


def _lose_watermarks(_: str, store: Store, dice: random.Random) -> Store:
    def kept(collection: Collection, _: str, body: bytes) -> bytes | None:
        lost = collection.name == STATES.collection.name and dice.random() < _LOST_WATERMARKS
        return None if lost else body

    return AlteredStore(store, kept=kept)


COUNTS_TWICE_AFTER_A_CRASH = Plant(
    "counts_twice_after_a_crash", "a projection's sums are kept, its watermark is not", store=_lose_watermarks
)


_LOST_EVENTS = 0.02


def _lose_events(_: str, store: Store, dice: random.Random) -> Store:
    def kept(collection: Collection, _: str, body: bytes) -> bytes | None:
        forgotten = collection.name.endswith("-outbox") and dice.random() < _LOST_EVENTS
        return None if forgotten else body

    return AlteredStore(store, kept=kept)


FORGETS_ITS_EVENT = Plant(
    "forgets_its_event", "a state changes, and its event is not in the outbox", store=_lose_events
)


def _hash_without_chain(_: str, store: Store, __: random.Random) -> Store:
    changed_hashes: dict[str, str] = {}

    def kept(collection: Collection, _: str, body: bytes) -> bytes | None:
        if collection.name == BATCHES.collection.name:
            batch = BATCHES.model.model_validate_json(body)
            changed_hashes[batch.hash] = compute_batch_hash(batch.seq, batch.sealed_at, batch.transactions, GENESIS)
            return BATCHES.encode(batch.model_copy(update={"hash": changed_hashes[batch.hash]}))[0]
        if collection.name == HEAD.collection.name:
            head = HEAD.model.model_validate_json(body)
            return HEAD.encode(head.model_copy(update={"hash": changed_hashes[head.hash]}))[0]
        return body

    return AlteredStore(store, kept=kept)


FORGETS_THE_BATCH_BEFORE = Plant(
    "forgets_the_batch_before", "a batch's hash says nothing of the batch before it", store=_hash_without_chain
)


def _without_digests(row: ContractRow) -> ContractRow:
    verification = row.state.verification
    judged = {f"{location:064x}": each for location, each in enumerate(verification.judged.values())}
    state = row.state.model_copy(update={"verification": verification.model_copy(update={"judged": judged})})
    return row.model_copy(update={"state": state})


def _forget_judged(_: str, store: Store, __: random.Random) -> Store:
    def altered(collection: Collection, document: Document) -> Document | None:
        if collection.name != CONTRACTS.collection.name:
            return document
        return change_record(CONTRACTS, document, _without_digests)

    return AlteredStore(store, alter_read=altered)


REPLAYS_AS_NEW = Plant(
    "replays_as_new", "a candidate that was judged before is judged and counted again", store=_forget_judged
)


def _hide_unsealed(_: str, store: Store, __: random.Random) -> Store:
    def altered(collection: Collection, document: Document) -> Document | None:
        skipped = sha256(document.key.encode()).digest()[0] < 26
        return None if collection.name == UNSEALED.collection.name and skipped else document

    return AlteredStore(store, alter_read=altered)


SEALER_SKIPS = Plant("sealer_skips", "one transaction in ten is never sealed", store=_hide_unsealed)


class _UncheckedTransaction:
    """Reads and writes that know nothing of each other."""

    def __init__(self, store: Store, transaction: Transaction) -> None:
        self.get, self.get_many = store.get, store.get_many
        self.put, self.delete = transaction.put, transaction.delete

    def create(self, collection: Collection, key: str, body: bytes, fields: Fields) -> None:
        self.put(collection, key, body, fields)

    def update(self, collection: Collection, seen: Document, body: bytes, fields: Fields) -> None:
        self.put(collection, seen.key, body, fields)


class _UncheckedStore(ForwardingStore):
    async def transact(self, fn: Callable[[Transaction], Awaitable[T]]) -> T:
        async def unchecked(transaction: Transaction) -> T:
            return await fn(_UncheckedTransaction(self._store, transaction))

        return await super().transact(unchecked)


def _write_unchecked(name: str, store: Store, _: random.Random) -> Store:
    return _UncheckedStore(store) if name == "verification" else store


WRITES_BLINDLY = Plant(
    "writes_blindly", "of two transactions at once the later one undoes the other", store=_write_unchecked
)

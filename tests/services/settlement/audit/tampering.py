import json
from collections.abc import Awaitable, Callable
from typing import Any

from pydantic import BaseModel

from aex_models.canonical import canonical_bytes, sha256_hex
from aex_models.settlement import LedgerTransaction
from aex_runtime.store.port import Document, Fields, Store, Transaction, key_of
from aex_runtime.store.table import Table
from aex_settlement.repository.journal import BATCHES, HEAD, HEAD_KEY, UNSEALED, batch_key
from aex_settlement.repository.ledger import TRANSACTIONS
from aex_settlement.repository.projections import STATES
from aex_settlement.rules.journal import GENESIS, JournalBatch, SealedTransaction, Unsealed, compute_batch_hash, head_of
from aex_settlement.rules.projections import Projection

Change = Callable[[Any], None]
"""Edits the JSON of a record in place."""
Tamper = Callable[[Store], Awaitable[None]]
Key = str | Callable[[Store], Awaitable[str]]
"""A document's key, or what finds it."""


async def put(store: Store, table: Table[Any], key: str, body: bytes, fields: Fields) -> None:
    async def write(transaction: Transaction) -> None:
        transaction.put(table.collection, key, body, fields)

    await store.transact(write)


async def save(store: Store, table: Table[Any], key: str, record: BaseModel) -> None:
    await put(store, table, key, *table.encode(record))


async def delete(store: Store, table: Table[Any], key: str) -> None:
    async def write(transaction: Transaction) -> None:
        transaction.delete(table.collection, key)

    await store.transact(write)


async def read(store: Store, table: Table[Any], key: str) -> Document:
    document = await store.get(table.collection, key)
    assert document is not None, key
    return document


async def overwrite(store: Store, table: Table[Any], key: str, body: bytes | None) -> None:
    """Store other bytes with the same index fields; None removes the document."""
    document = await read(store, table, key)
    await (delete(store, table, key) if body is None else put(store, table, key, body, document.fields))


async def edit(store: Store, table: Table[Any], key: str, change: Change) -> None:
    """Change the JSON of a record; its index fields stay."""
    document = await read(store, table, key)
    value = json.loads(document.body)
    change(value)
    await overwrite(store, table, key, canonical_bytes(value))


async def batch(store: Store, seq: int) -> JournalBatch:
    return BATCHES.decode(await read(store, BATCHES, batch_key(seq))).record


async def batch_of(store: Store, transaction_id: str) -> JournalBatch:
    seq = 1
    while True:
        one = await batch(store, seq)
        if any(each.id == transaction_id for each in one.transactions):
            return one
        seq += 1


async def rechain(store: Store, changed: JournalBatch) -> None:
    """Write a changed batch with the hash that it must have, and all later ones, and the head, to fit."""
    previous = GENESIS if changed.seq == 1 else (await batch(store, changed.seq - 1)).hash
    one = changed
    while True:
        made = compute_batch_hash(one.seq, one.sealed_at, one.transactions, previous)
        one = one.model_copy(update={"previous_hash": previous, "hash": made})
        await save(store, BATCHES, batch_key(one.seq), one)
        previous = one.hash
        following = await store.get(BATCHES.collection, batch_key(one.seq + 1))
        if following is None:
            break
        one = BATCHES.decode(following).record
    await save(store, HEAD, HEAD_KEY, head_of(one))


def resealed(one: JournalBatch, transaction_id: str, digest: str | None) -> JournalBatch:
    transactions = tuple(
        each if each.id != transaction_id else SealedTransaction(id=each.id, digest=digest or "")
        for each in one.transactions
        if digest is not None or each.id != transaction_id
    )
    return one.model_copy(update={"transactions": transactions})


async def digest_of(store: Store, transaction_id: str) -> str:
    return sha256_hex((await read(store, TRANSACTIONS, key_of(transaction_id))).body)


async def add(store: Store, transaction: LedgerTransaction, *, waiting: bool) -> None:
    key = key_of(transaction.id)
    await save(store, TRANSACTIONS, key, transaction)
    if waiting:
        digest = sha256_hex(canonical_bytes(transaction))
        sealed = SealedTransaction(id=transaction.id, digest=digest)
        row = Unsealed(transactions=(sealed,), occurred_at=transaction.occurred_at)
        await save(store, UNSEALED, key, row)


async def cut_tail(store: Store, last: int) -> None:
    seq = last + 1
    while await store.get(BATCHES.collection, batch_key(seq)) is not None:
        await delete(store, BATCHES, batch_key(seq))
        seq += 1
    final = await batch(store, last)
    await save(store, HEAD, HEAD_KEY, head_of(final))
    for projection in Projection:
        state = STATES.decode(await read(store, STATES, projection.value)).record
        moved = state.model_copy(update={"seq": final.seq, "sealed_at": final.sealed_at})
        await save(store, STATES, projection.value, moved)


async def swap(store: Store, one: str, other: str) -> None:
    first, second = [await read(store, TRANSACTIONS, key_of(each)) for each in (one, other)]
    await put(store, TRANSACTIONS, first.key, second.body, second.fields)
    await put(store, TRANSACTIONS, second.key, first.body, first.fields)


def with_amount(transaction: Any, micros: int) -> None:
    first, second = transaction["postings"][:2]
    second["amount"] += first["amount"] - micros
    first["amount"] = micros


async def _key(store: Store, key: Key) -> str:
    return key if isinstance(key, str) else await key(store)


def editing(table: Table[Any], key: Key, change: Change) -> Tamper:
    async def tamper(store: Store) -> None:
        await edit(store, table, await _key(store, key), change)

    return tamper


def deleting(table: Table[Any], key: Key) -> Tamper:
    async def tamper(store: Store) -> None:
        await delete(store, table, await _key(store, key))

    return tamper


def indexing(table: Table[Any], key: Key, **fields: Any) -> Tamper:
    """Change index fields; the record stays."""

    async def tamper(store: Store) -> None:
        document = await read(store, table, await _key(store, key))
        await put(store, table, document.key, document.body, {**document.fields, **fields})

    return tamper


def copying(table: Table[Any], key: Key, other: str) -> Tamper:
    async def tamper(store: Store) -> None:
        document = await read(store, table, await _key(store, key))
        await put(store, table, other, document.body, document.fields)

    return tamper

"""The journal as it is stored, with the transactions that it seals: some batches at a time."""

from collections.abc import AsyncGenerator, Iterator, Sequence
from typing import NamedTuple

from aex_runtime.store.port import Document, Store
from aex_settlement.repository.audited import (
    batch_documents,
    decoded,
    is_found_by,
    next_batch_number,
    transaction_documents,
)
from aex_settlement.repository.journal import BATCHES
from aex_settlement.rules.journal import JournalBatch

_PAGE = 100
_TRANSACTIONS = 400
"""How many transactions, or little more, are held at once."""


class Sealed(NamedTuple):
    """A batch and the documents of its transactions, in its order; None where one is missing."""

    batch: JournalBatch
    documents: Sequence[Document | None]


class Missing(NamedTuple):
    """Batches that are not there, or are none."""

    first: int
    last: int
    why: str


async def each_sealed(store: Store, first: int, last: int) -> AsyncGenerator[list[Sealed | Missing], None]:
    """The batches from `first` to `last`, in their order."""
    seq = first
    while seq <= last:
        page = await batch_documents(store, seq, min(seq + _PAGE - 1, last))
        if not any(page):
            # Whoever writes a head far away must not keep an audit busy: what is not there is not looked for.
            found = await next_batch_number(store, seq + len(page) - 1)
            behind = last if found is None else min(found - 1, last)
            yield [Missing(seq, behind, "is missing")]
            seq = behind + 1
            continue
        batches = [_batch(seq + at, document) for at, document in enumerate(page)]
        for group in _groups(batches):
            yield await _with_transactions(store, group)
        seq += len(page)


def _batch(seq: int, document: Document | None) -> JournalBatch | Missing:
    if document is None:
        return Missing(seq, seq, "is missing")
    batch = decoded(BATCHES, document)
    if batch is None or batch.seq != seq:
        return Missing(seq, seq, "holds something else")
    if not is_found_by(BATCHES, document, batch):
        return Missing(seq, seq, "has other index fields than its contents: queries do not find it where it belongs")
    return batch


def _groups(batches: Sequence[JournalBatch | Missing]) -> Iterator[list[JournalBatch | Missing]]:
    group: list[JournalBatch | Missing] = []
    size = 0
    for batch in batches:
        group.append(batch)
        size += len(batch.transactions) if isinstance(batch, JournalBatch) else 0
        if size >= _TRANSACTIONS:
            yield group
            group, size = [], 0
    if group:
        yield group


async def _with_transactions(store: Store, group: Sequence[JournalBatch | Missing]) -> list[Sealed | Missing]:
    ids = [each.id for batch in group if isinstance(batch, JournalBatch) for each in batch.transactions]
    found = iter(await transaction_documents(store, ids))
    return [
        Sealed(batch, [next(found) for _ in batch.transactions]) if isinstance(batch, JournalBatch) else batch
        for batch in group
    ]

"""Reads for the audit, which find every stored document.

The service's own queries miss a document whose index fields were altered.
"""

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

from aex_runtime.store.port import Bound, Direction, Document, Query, Store, key_of
from aex_runtime.store.table import M, Table
from aex_settlement.repository.journal import BATCHES, UNSEALED, batch_key
from aex_settlement.repository.ledger import SETTLEMENTS, TRANSACTIONS
from aex_settlement.repository.pages import BATCH, decode_or_none, iterate_pages, read_documents
from aex_settlement.repository.projections import ACCOUNT_PAGES, BALANCES, DAYS, ROLLUPS, projected_key
from aex_settlement.rules.audit_projections import RecordKind
from aex_settlement.rules.projections import AccountPage, Balance, DayBalance, Rollup

_HASH = len("0000-")
Projected = Balance | AccountPage | DayBalance | Rollup
_PROJECTED: Mapping[RecordKind, Table[Any]] = {
    RecordKind.BALANCE: BALANCES,
    RecordKind.PAGE: ACCOUNT_PAGES,
    RecordKind.DAY: DAYS,
    RecordKind.ROLLUP: ROLLUPS,
}


def id_from_key(key: str) -> str:
    """Return the id of the record under a document key; the key itself if it was not made by `key_of`."""
    return key[_HASH:] or key


def has_matching_index_fields(table: Table[M], document: Document, record: M) -> bool:
    """Return whether the document's index fields are those of its record; otherwise queries miss it."""
    return dict(document.fields) == dict(table.index(record))


async def read_batch_documents(store: Store, first: int, last: int) -> list[Document | None]:
    """Return the documents of batches `first` to `last`, read by key; None for a missing one."""
    return await read_documents(store, BATCHES.collection, [batch_key(seq) for seq in range(first, last + 1)])


async def find_next_batch_number(store: Store, seq: int) -> int | None:
    """Return the number of the first indexed batch after `seq`; None if there is none."""
    return await _first_number(store, Query(BATCHES.collection, order="seq", bounds=(Bound(">", seq),), limit=1))


async def find_last_batch_number(store: Store) -> int | None:
    """Return the number of the batch that was sealed last, by its index field; None if there is none."""
    return await _first_number(store, Query(BATCHES.collection, order="sealed_at", direction="desc", limit=1))


async def _first_number(store: Store, query: Query) -> int | None:
    found = await store.query_page(query)
    number = found[0].fields.get("seq") if found else None
    return number if isinstance(number, int) else None


async def has_ledger_records(store: Store) -> bool:
    """Return whether there is any transaction, unsealed row or settlement."""
    queries = (
        Query(TRANSACTIONS.collection, limit=1),
        Query(UNSEALED.collection, order="occurred_at", limit=1),
        Query(SETTLEMENTS.collection, order="settled_at", direction="desc", limit=1),
    )
    return any([await store.query_page(query) for query in queries])


async def read_settlement_documents(store: Store, contract_ids: Sequence[str]) -> list[Document | None]:
    """Return the documents of the settlements of these contracts, in this order; None for a missing one."""
    return await read_documents(store, SETTLEMENTS.collection, [key_of(each) for each in contract_ids])


def iterate_document_pages(
    store: Store, table: Table[Any], order: str | None = None, direction: Direction = "asc"
) -> AsyncGenerator[list[Document], None]:
    """Yield every document of a table in pages, sorted by the field `order`, or by key if that is None."""
    return iterate_pages(store, Query(table.collection, order=order, direction=direction, limit=BATCH))


async def read_projected_page(store: Store, kind: RecordKind, generation: str, after: str | None) -> list[Document]:
    """Return a page of the stored records of one kind and generation, by key, after the key `after`."""
    following = None if after is None else (None, after)
    collection = _PROJECTED[kind].collection
    return await store.query_page(Query(collection, {"generation": generation}, after=following, limit=BATCH))


def decode_projected(kind: RecordKind, document: Document) -> Projected | None:
    """Return the record of a projection document; None if it cannot be decoded or its index fields differ."""
    record: Projected | None = decode_or_none(_PROJECTED[kind], document)
    return record if record is not None and has_matching_index_fields(_PROJECTED[kind], document, record) else None


def expected_record_key(generation: str, identity: Sequence[str | int | None]) -> str:
    """Return the key under which a projection record with this identity belongs."""
    return projected_key(generation, *(None if part is None else str(part) for part in identity))

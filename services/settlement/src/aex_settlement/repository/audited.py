"""Every stored document, for the audit: also those that no query of the service would find."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

from aex_runtime.store.port import Bound, Direction, Document, Query, Store, key_of
from aex_runtime.store.table import M, Table
from aex_settlement.repository.journal import BATCHES, UNSEALED, batch_key
from aex_settlement.repository.ledger import SETTLEMENTS, TRANSACTIONS
from aex_settlement.repository.pages import BATCH, decode, document_pages, read_documents
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
    """Return the id of the record that belongs under a key of `key_of`; otherwise the key itself."""
    return key[_HASH:] or key


def is_indexed(table: Table[M], document: Document, record: M) -> bool:
    """Return whether the document's index fields are those of its record, so that queries find it."""
    return dict(document.fields) == dict(table.index(record))


async def batch_documents(store: Store, first: int, last: int) -> list[Document | None]:
    """Return the batches of these numbers by their keys: the audit trusts no index."""
    return await read_documents(store, BATCHES.collection, [batch_key(seq) for seq in range(first, last + 1)])


async def next_batch_number(store: Store, seq: int) -> int | None:
    """Return the number of the first batch after `seq` that a query finds."""
    return await _first_number(store, Query(BATCHES.collection, order="seq", bounds=(Bound(">", seq),), limit=1))


async def last_batch_number(store: Store) -> int | None:
    """Return the number of the batch that was sealed last."""
    return await _first_number(store, Query(BATCHES.collection, order="sealed_at", direction="desc", limit=1))


async def _first_number(store: Store, query: Query) -> int | None:
    found = await store.query(query)
    number = found[0].fields.get("seq") if found else None
    return number if isinstance(number, int) else None


async def has_ledger_records(store: Store) -> bool:
    """Return whether there is any transaction, unsealed row or settlement."""
    queries = (
        Query(TRANSACTIONS.collection, limit=1),
        Query(UNSEALED.collection, order="occurred_at", limit=1),
        Query(SETTLEMENTS.collection, order="settled_at", direction="desc", limit=1),
    )
    return any([await store.query(query) for query in queries])


async def settlement_documents(store: Store, contract_ids: Sequence[str]) -> list[Document | None]:
    """Return the settlements of these contracts, in their order."""
    return await read_documents(store, SETTLEMENTS.collection, [key_of(each) for each in contract_ids])


def all_documents(
    store: Store, table: Table[Any], order: str | None = None, direction: Direction = "asc"
) -> AsyncGenerator[list[Document], None]:
    """Yield every document of a table, page by page; without an order, by key."""
    return document_pages(store, Query(table.collection, order=order, direction=direction, limit=BATCH))


async def projected_page(store: Store, kind: RecordKind, generation: str, after: str | None) -> list[Document]:
    """Return a page of one generation's records, by key, after the key `after`."""
    following = None if after is None else (None, after)
    collection = _PROJECTED[kind].collection
    return await store.query(Query(collection, {"generation": generation}, after=following, limit=BATCH))


def projected_record(kind: RecordKind, document: Document) -> Projected | None:
    """Return the record if the document holds one and its index fields are right."""
    record: Projected | None = decode(_PROJECTED[kind], document)
    return record if record is not None and is_indexed(_PROJECTED[kind], document, record) else None


def expected_key(generation: str, identity: Sequence[str | int | None]) -> str:
    """Return the key that a projected record of this identity has."""
    return projected_key(generation, *(None if part is None else str(part) for part in identity))

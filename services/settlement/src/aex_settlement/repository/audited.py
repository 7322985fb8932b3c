"""Everything that is stored, as documents: an audit must meet what no other query would show."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from aex_runtime.store.keys import key_of
from aex_runtime.store.port import Bound, Collection, Document, Query, Store, StoreError, StoreUnavailable
from aex_runtime.store.table import UNREADABLE, M, Table
from aex_settlement.repository.journal import BATCHES, UNSEALED, batch_key
from aex_settlement.repository.ledger import TRANSACTIONS
from aex_settlement.repository.pages import BATCH
from aex_settlement.repository.projections import BALANCES, DAYS, ROLLUPS, SHEETS, projected_key
from aex_settlement.repository.settlements import SETTLEMENTS
from aex_settlement.rules.audit.figures import Kind
from aex_settlement.rules.projected import Balance, DayBalance, Rollup, Sheet

_HASH = len("0000-")
Projected = Balance | Sheet | DayBalance | Rollup
_PROJECTED: Mapping[Kind, Table[Any]] = {
    Kind.BALANCE: BALANCES,
    Kind.SHEET: SHEETS,
    Kind.DAY: DAYS,
    Kind.ROLLUP: ROLLUPS,
}


def id_at(key: str) -> str:
    """The id of the record that belongs under a key of `key_of`; the key itself where it is none of those."""
    return key[_HASH:] or key


def decoded(table: Table[M], document: Document) -> M | None:
    """The record, where the document holds one."""
    try:
        return table.decode(document).record
    except UNREADABLE:
        return None


def is_found_by(table: Table[M], document: Document, record: BaseModel) -> bool:
    """Whether the document's index fields are those of its record: otherwise queries miss it, or find it wrongly."""
    fields = table.index(record)  # type: ignore[arg-type] # the record is of this table
    return _given(document.fields) == _given(fields)


def _given(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


async def batch_documents(store: Store, first: int, last: int) -> list[Document | None]:
    """The batches of these numbers, by their keys: no index is trusted."""
    return await _each(store, BATCHES.collection, [batch_key(seq) for seq in range(first, last + 1)])


async def next_batch_number(store: Store, seq: int) -> int | None:
    """The number of the first batch behind `seq` that a query finds."""
    found = await store.query(Query(BATCHES.collection, order="seq", bounds=(Bound(">", seq),), limit=1))
    number = found[0].fields.get("seq") if found else None
    return number if isinstance(number, int) else None


async def last_batch_number(store: Store) -> int | None:
    """The number of the batch that was sealed last; None where there is none."""
    found = await store.query(Query(BATCHES.collection, order="sealed_at", direction="desc", limit=1))
    number = found[0].fields.get("seq") if found else None
    return number if isinstance(number, int) else None


async def has_bookings(store: Store) -> bool:
    """Whether anything was ever booked: a transaction, what waits, or a settlement."""
    asked = (
        Query(TRANSACTIONS.collection, limit=1),
        Query(UNSEALED.collection, order="occurred_at", limit=1),
        Query(SETTLEMENTS.collection, order="settled_at", direction="desc", limit=1),
    )
    return any([await store.query(each) for each in asked])


async def transaction_documents(store: Store, ids: Sequence[str]) -> list[Document | None]:
    """These transactions, in their order."""
    return await _each(store, TRANSACTIONS.collection, [key_of(each) for each in ids])


async def waiting_documents(store: Store, keys: Sequence[str]) -> list[Document | None]:
    """The rows with which transactions wait, by the keys of those that lead them."""
    return await _each(store, UNSEALED.collection, keys)


async def settlement_documents(store: Store, contract_ids: Sequence[str]) -> list[Document | None]:
    """The settlements of these contracts, in their order."""
    return await _each(store, SETTLEMENTS.collection, [key_of(each) for each in contract_ids])


def all_transactions(store: Store) -> AsyncGenerator[list[Document], None]:
    """Every transaction that is stored, by key, a page at a time."""
    return _pages(store, Query(TRANSACTIONS.collection, limit=BATCH))


def all_settlements(store: Store) -> AsyncGenerator[list[Document], None]:
    """Every settlement, newest first: those that come meanwhile are not met."""
    return _pages(store, Query(SETTLEMENTS.collection, order="settled_at", direction="desc", limit=BATCH))


def all_waiting(store: Store) -> AsyncGenerator[list[Document], None]:
    """Every row of what waits, oldest first."""
    return _pages(store, Query(UNSEALED.collection, order="occurred_at", limit=BATCH))


async def projected_page(store: Store, kind: Kind, generation: str, after: str | None) -> list[Document]:
    """A page of one generation's records, by key, behind the key `after`."""
    position = None if after is None else (None, after)
    return await store.query(
        Query(_PROJECTED[kind].collection, {"generation": generation}, after=position, limit=BATCH)
    )


def projected_record(kind: Kind, document: Document) -> Projected | None:
    """The record, where the document holds one and its index fields are right."""
    record: Projected | None = decoded(_PROJECTED[kind], document)
    return record if record is not None and is_found_by(_PROJECTED[kind], document, record) else None


def projected_key_of(generation: str, where: Sequence[str | int | None]) -> str:
    """The key of a projected record."""
    return projected_key(generation, *(None if part is None else str(part) for part in where))


async def _each(store: Store, collection: Collection, keys: Sequence[str]) -> list[Document | None]:
    """The documents in the order of the keys; None also where one's body is lost."""
    found: list[Document | None] = []
    for at in range(0, len(keys), BATCH):
        some = keys[at : at + BATCH]
        try:
            found += await store.get_many(collection, some)
        except StoreUnavailable:
            raise
        except StoreError:  # one of them: find it
            found += [await _one(store, collection, key) for key in some]
    return found


async def _one(store: Store, collection: Collection, key: str) -> Document | None:
    try:
        return await store.get(collection, key)
    except StoreUnavailable:
        raise
    except StoreError:
        return None


async def _pages(store: Store, query: Query) -> AsyncGenerator[list[Document], None]:
    after = None
    while True:
        page = await store.query(
            Query(query.collection, {}, query.order, query.direction, after=after, limit=query.limit)
        )
        if page:
            yield page
        if len(page) < query.limit:
            return
        after = (page[-1].fields[query.order] if query.order else None, page[-1].key)

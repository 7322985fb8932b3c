"""What settlement keeps, and the only place that knows the collections' names. Nothing here is ever edited."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Generic, TypeVar

from pydantic import BaseModel

from aex_models.settlement import AccountEntry, LedgerTransaction, Settlement
from aex_runtime.clock import epoch_micros
from aex_runtime.store.keys import key_of
from aex_runtime.store.port import Bound, Collection, Fields, Index, Scalar, Store
from aex_runtime.store.table import Stored, Table
from aex_runtime.unit_of_work import Unit
from aex_settlement.rules.periods import Period

M = TypeVar("M", bound=BaseModel)
FILTERS = ("agent_id", "consumer_id", "domain", "status")
"""What settlements can be listed by, in any combination."""
_BATCH = 200
"""How many records are read at once: few enough that decoding them does not hold the event loop for long."""


def _settlement_fields(settlement: Settlement) -> Fields:
    return {
        "agent_id": settlement.agent_id,
        "consumer_id": settlement.consumer_id,
        "domain": settlement.domain,
        "status": settlement.status.value,
        "settled_at": epoch_micros(settlement.settled_at),
    }


def _transaction_fields(transaction: LedgerTransaction) -> Fields:
    return {"occurred_at": epoch_micros(transaction.occurred_at)}


def _entry_fields(entry: AccountEntry) -> Fields:
    return {"account": entry.account, "occurred_at": epoch_micros(entry.occurred_at)}


SETTLEMENTS = Table(
    Collection(
        "settlement-settlements",
        tuple(
            Index(equal, "settled_at", "desc")
            for size in range(len(FILTERS) + 1)
            for equal in combinations(FILTERS, size)
        ),
    ),
    Settlement,
    _settlement_fields,
)
TRANSACTIONS = Table(
    Collection("settlement-transactions", (Index((), "occurred_at", "desc"),)), LedgerTransaction, _transaction_fields
)
ENTRIES = Table(
    Collection("settlement-entries", (Index(("account",), "occurred_at", "desc"),)), AccountEntry, _entry_fields
)

COLLECTIONS = (SETTLEMENTS.collection, TRANSACTIONS.collection, ENTRIES.collection)
"""All of them, for the indexes that Firestore needs."""


def create_transaction(unit: Unit, transaction: LedgerTransaction) -> None:
    """Write a transaction that must not exist, and its postings under their accounts.

    Every document is this transaction's own: none is shared between settlements.
    """
    key = key_of(transaction.id)
    unit.create(TRANSACTIONS, key, transaction)
    for position, posting in enumerate(transaction.postings):
        entry = AccountEntry(
            transaction_id=transaction.id,
            contract_id=transaction.contract_id,
            kind=transaction.kind,
            account=posting.account,
            amount=posting.amount,
            currency=posting.currency,
            occurred_at=transaction.occurred_at,
            reason=transaction.reason,
        )
        unit.create(ENTRIES, f"{key}-{position:03d}", entry)


def create_settlement(unit: Unit, settlement: Settlement) -> None:
    """Write the settlement of a contract, which must not have one."""
    unit.create(SETTLEMENTS, key_of(settlement.contract_id), settlement)


@dataclass(frozen=True, slots=True)
class Slice(Generic[M]):
    """Some records of a query, newest first; `after` is the position of the last where more follow."""

    records: tuple[M, ...]
    after: tuple[Scalar, str] | None


async def settlements_slice(
    store: Store, equal: Fields, period: Period, after: tuple[Scalar, str] | None, limit: int
) -> Slice[Settlement]:
    """At most `limit` settlements that match, newest first."""
    found = await SETTLEMENTS.find(store, equal, "settled_at", "desc", _bounds(period), after, limit + 1)
    return _slice(found, "settled_at", limit)


async def entries_slice(
    store: Store, account: str, as_of: int, after: tuple[Scalar, str] | None, limit: int
) -> Slice[AccountEntry]:
    """At most `limit` postings of an account up to an instant (microseconds since 1970), newest first."""
    bounds = (Bound("<=", as_of),)
    found = await ENTRIES.find(store, {"account": account}, "occurred_at", "desc", bounds, after, limit + 1)
    return _slice(found, "occurred_at", limit)


def each_settlement(store: Store, equal: Fields, period: Period) -> AsyncIterator[Settlement]:
    """All settlements that match, a batch in memory at a time."""
    return _each(store, SETTLEMENTS, equal, "settled_at", _bounds(period))


def each_transaction(store: Store, as_of: int) -> AsyncIterator[LedgerTransaction]:
    """All transactions up to an instant (microseconds since 1970), a batch in memory at a time."""
    return _each(store, TRANSACTIONS, {}, "occurred_at", (Bound("<=", as_of),))


def each_entry(store: Store, account: str, as_of: int) -> AsyncIterator[AccountEntry]:
    """All postings of an account up to an instant (microseconds since 1970), a batch in memory at a time."""
    return _each(store, ENTRIES, {"account": account}, "occurred_at", (Bound("<=", as_of),))


async def _each(store: Store, table: Table[M], equal: Fields, order: str, bounds: Sequence[Bound]) -> AsyncIterator[M]:
    after: tuple[Scalar, str] | None = None
    while True:
        found = await table.find(store, equal, order, "desc", bounds, after, _BATCH)
        for stored in found:
            yield stored.record
        if len(found) < _BATCH:
            return
        after = _position(found[-1], order)


def _slice(found: Sequence[Stored[M]], order: str, limit: int) -> Slice[M]:
    shown = found[:limit]
    return Slice(tuple(stored.record for stored in shown), _position(shown[-1], order) if len(found) > limit else None)


def _position(stored: Stored[M], order: str) -> tuple[Scalar, str]:
    return stored.document.fields[order], stored.document.key


def _bounds(period: Period) -> tuple[Bound, ...]:
    start = () if period.start is None else (Bound(">=", period.start),)
    end = () if period.end is None else (Bound("<", period.end),)
    return (*start, *end)

"""The bookings of settlements, out of the ledger itself: for whoever wants all of them."""

import asyncio
from collections.abc import AsyncGenerator, Sequence

from aex_models.settlement import LedgerTransaction, SettlementStatus
from aex_runtime.periods import Period, within
from aex_runtime.store.keys import key_of
from aex_runtime.store.port import Document, Fields, Query, Scalar, Store
from aex_settlement.repository.ledger import TRANSACTIONS
from aex_settlement.repository.settlements import SETTLEMENTS

PAGE = 400
_ORDER = "occurred_at"


async def booking_pages(
    store: Store, equal: Fields, period: Period
) -> AsyncGenerator[Sequence[LedgerTransaction], None]:
    """All bookings of a period, or those of one agent or consumer (`equal`), oldest first; a page in memory at a time.

    Read in a thread: a million of them must not hold the event loop.
    """
    after: tuple[Scalar, str] | None = None
    while True:
        query = Query(TRANSACTIONS.collection, equal, _ORDER, "asc", within(period), after, PAGE)
        found = await store.query(query)
        if found:
            yield await asyncio.to_thread(_bookings, found)
        if len(found) < PAGE:
            return
        after = found[-1].fields[_ORDER], found[-1].key


def _bookings(documents: Sequence[Document]) -> list[LedgerTransaction]:
    transactions = (TRANSACTIONS.decode(document).record for document in documents)
    return [each for each in transactions if each.booking is not None]


async def contracts_in(store: Store, contract_ids: Sequence[str], status: SettlementStatus) -> frozenset[str]:
    """Those of the contracts whose settlement has this status now."""
    known = list(dict.fromkeys(contract_ids))
    found = await store.get_many(SETTLEMENTS.collection, [key_of(each) for each in known])
    return frozenset(
        contract_id
        for contract_id, document in zip(known, found, strict=True)
        if document is not None and document.fields["status"] == status.value
    )

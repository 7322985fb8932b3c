"""Settlement's handlers over a store, with a clock that the test moves."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import pytest

from aex_models.audiences import Audience
from aex_models.events import Event
from aex_models.settlement import LedgerTransaction, Posting
from aex_runtime.clock import SetClock
from aex_runtime.identity.principals import Principal
from aex_runtime.ids import SeededIds
from aex_runtime.measures import UNMEASURED, Measures
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import Query, Store
from aex_runtime.store.sqlite import SQLiteStore
from aex_runtime.unit_of_work import Committed, UnitOfWork
from aex_settlement.deps import Deps
from aex_settlement.repository.ledger import TRANSACTIONS
from aex_settlement.repository.pages import iterate_records
from aex_settlement.sealer import seal_and_project

in_memory = pytest.mark.parametrize("ledger", ["memory"], indirect=True)
on_both_stores = pytest.mark.parametrize("ledger", ["memory", "sqlite"], indirect=True)
FINANCE = Principal("ledger-desk", Audience.FINANCE)
ACME = Principal("acme", Audience.CONSUMER)
GLOBEX = Principal("globex", Audience.CONSUMER)
BOT = Principal("bot", Audience.AGENT)


@dataclass
class LedgerKit:
    deps: Deps
    clock: SetClock
    events: list[Event] = field(default_factory=list)

    async def seal(self) -> int:
        """Seal what waits and apply it, as the sealer does; how many transactions that were."""
        return await seal_and_project(self.deps)

    async def transactions(self) -> list[LedgerTransaction]:
        query = Query(TRANSACTIONS.collection, order="occurred_at", limit=200)
        return [each async for each in iterate_records(self.deps.store, TRANSACTIONS, query)]

    async def postings(self, account: str) -> list[Posting]:
        return [each for one in await self.transactions() for each in one.postings if each.account == account]


def ledger_kit_over(store: Store, at: datetime, measures: Measures = UNMEASURED) -> LedgerKit:
    clock = SetClock(at)
    events: list[Event] = []

    def committed(what: Committed) -> None:
        events.extend(what.events)

    deps = Deps(UnitOfWork("settlement", store, clock, committed, measures), store, clock, SeededIds(1), lambda: None)
    return LedgerKit(deps, clock, events)


@asynccontextmanager
async def open_store(kind: str, folder: Path) -> AsyncIterator[Store]:
    store: Store = MemoryStore() if kind == "memory" else SQLiteStore(folder / "store.sqlite3")
    try:
        yield store
    finally:
        await store.close()

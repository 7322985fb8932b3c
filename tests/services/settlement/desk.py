"""Settlement's handlers over a store, with a clock that the test moves."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from aex_models.audiences import Audience
from aex_models.events import Event
from aex_models.settlement import LedgerTransaction, Posting
from aex_runtime.clock import SetClock
from aex_runtime.identity.principal import Principal
from aex_runtime.ids import SeededIds
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import Store
from aex_runtime.store.sqlite import SQLiteStore
from aex_runtime.unit_of_work import Committed, UnitOfWork
from aex_settlement.deps import Deps
from aex_settlement.repository.ledger import TRANSACTIONS
from aex_settlement.repository.pages import each_page
from aex_settlement.sealer import catch_up

FINANCE = Principal("ledger-desk", Audience.FINANCE)
ACME = Principal("acme", Audience.CONSUMER)
GLOBEX = Principal("globex", Audience.CONSUMER)
BOT = Principal("bot", Audience.AGENT)


@dataclass
class Desk:
    """The handlers' collaborators, and what they published."""

    deps: Deps
    clock: SetClock
    events: list[Event] = field(default_factory=list)

    async def seal(self) -> int:
        """Seal what waits and apply it, as the sealer does; how many transactions that were."""
        return await catch_up(self.deps)

    async def transactions(self) -> list[LedgerTransaction]:
        """All that was booked, sealed or not, oldest first."""
        pages = each_page(self.deps.store, TRANSACTIONS, {}, "occurred_at", "asc")
        return [stored.record async for page in pages for stored in page]

    async def postings(self, account: str) -> list[Posting]:
        """What was posted to an account, sealed or not, oldest first."""
        return [each for one in await self.transactions() for each in one.postings if each.account == account]


def desk_over(store: Store, at: datetime) -> Desk:
    """Handlers over this store."""
    clock = SetClock(at)
    events: list[Event] = []

    def committed(what: Committed) -> None:
        events.extend(what.events)

    deps = Deps(UnitOfWork("settlement", store, clock, committed), store, clock, SeededIds(1), lambda: None)
    return Desk(deps, clock, events)


@asynccontextmanager
async def open_store(kind: str, folder: Path) -> AsyncIterator[Store]:
    """A store of each kind that is embedded."""
    store: Store = MemoryStore() if kind == "memory" else SQLiteStore(folder / "store.sqlite3")
    try:
        yield store
    finally:
        await store.close()

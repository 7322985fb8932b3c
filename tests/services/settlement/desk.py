"""Settlement's handlers over a store, with a clock that the test moves."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from aex_models.audiences import Audience
from aex_models.events import Event
from aex_models.settlement import AccountEntry, LedgerTransaction
from aex_runtime.clock import SetClock, epoch_micros
from aex_runtime.identity.principal import Principal
from aex_runtime.ids import SeededIds
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import Store
from aex_runtime.store.sqlite import SQLiteStore
from aex_runtime.unit_of_work import Committed, UnitOfWork
from aex_settlement.deps import Deps
from aex_settlement.repository import each_entry, each_transaction

FINANCE = Principal("ledger-desk", Audience.FINANCE)
ACME = Principal("acme", Audience.CONSUMER)
GLOBEX = Principal("globex", Audience.CONSUMER)
BOT = Principal("bot", Audience.AGENT)
LATER = epoch_micros(datetime(2100, 1, 1, tzinfo=UTC))


@dataclass
class Desk:
    """The handlers' collaborators, and what they published."""

    deps: Deps
    clock: SetClock
    events: list[Event] = field(default_factory=list)

    async def transactions(self) -> list[LedgerTransaction]:
        return [each async for each in each_transaction(self.deps.store, LATER)]

    async def entries(self, account: str) -> list[AccountEntry]:
        return [each async for each in each_entry(self.deps.store, account, LATER)]


def desk_over(store: Store, at: datetime) -> Desk:
    """Handlers over this store."""
    clock = SetClock(at)
    events: list[Event] = []

    def committed(what: Committed) -> None:
        events.extend(what.events)

    deps = Deps(UnitOfWork("settlement", store, clock, committed), store, clock, SeededIds(1))
    return Desk(deps, clock, events)


@asynccontextmanager
async def open_store(kind: str, folder: Path) -> AsyncIterator[Store]:
    """A store of each kind that is embedded."""
    store: Store = MemoryStore() if kind == "memory" else SQLiteStore(folder / "store.sqlite3")
    try:
        yield store
    finally:
        await store.close()

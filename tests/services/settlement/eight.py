"""Eight consumers of one service, each with a store and a connection of its own, on either backend."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from aex_models.events import Event
from aex_models.settlement import LedgerTransaction
from aex_runtime.bus.wire import decode, encode
from aex_runtime.outbox_entry import outbox_table
from aex_runtime.store.firestore import FirestoreStore
from aex_runtime.store.port import Store
from aex_runtime.store.sqlite import SQLiteStore
from aex_settlement.handlers.read_ledger import read_trial_balance
from aex_settlement.repository.journal import batches_after
from aex_settlement.subscriptions import subscriptions
from tests.emulators.emulators import Emulators
from tests.services.settlement.desk import Desk, desk_over

CONSUMERS = 8
_ALL = 10_000
Balances = dict[tuple[str, str], str]
"""By account and currency."""


@dataclass(frozen=True, slots=True)
class Eight:
    """The desks; what one of them commits, the others see."""

    desks: tuple[Desk, ...]

    @property
    def first(self) -> Desk:
        """Whoever looks."""
        return self.desks[0]

    async def published(self, event_type: str) -> list[Event]:
        """What waits in the outbox that all of them share."""
        entries = await outbox_table("settlement").find(self.first.deps.store, order="created_at", limit=_ALL)
        return [each.record.event for each in entries if each.record.event.type == event_type]

    async def transactions(self, contract_id: str) -> list[LedgerTransaction]:
        """The ledger's, of one contract."""
        return [each for each in await self.first.transactions() if each.contract_id == contract_id]

    async def balances(self, as_of: datetime | None = None) -> Balances:
        """The trial balance, which must be zero in each currency; accounts that hold nothing are left out."""
        found = await read_trial_balance(self.first.deps, None if as_of is None else as_of.isoformat())
        assert sum(each.balance for each in found.accounts) == 0
        return {(each.account, each.currency): str(each.balance) for each in found.accounts if each.balance}

    async def instants(self) -> list[datetime]:
        """Every one that was sealed."""
        return [batch.sealed_at for batch in await batches_after(self.first.deps.store, 0, _ALL)]


async def receive(desk: Desk, event: Event) -> None:
    """Deliver an event as a consumer does: as it comes from the wire."""
    await subscriptions(desk.deps)[event.type](decode(encode(event)))


@asynccontextmanager
async def eight_over(folder: Path, emulators: Emulators | None, project: str, at: datetime) -> AsyncIterator[Eight]:
    """Eight over one SQLite file, or over one project on the Firestore emulator."""
    async with AsyncExitStack() as stack:
        desks = []
        for _ in range(CONSUMERS):
            store = _store(folder, emulators, project)
            stack.push_async_callback(store.close)
            desks.append(desk_over(store, at))
        yield Eight(tuple(desks))


def _store(folder: Path, emulators: Emulators | None, project: str) -> Store:
    if emulators is None:
        return SQLiteStore(folder / "store.sqlite3")
    return FirestoreStore(project, emulator=emulators.firestore.host)

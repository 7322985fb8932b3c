"""The settlement service on a real port and real SQLite, on a clock that tests move."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import httpx
from fastapi import FastAPI

from aex_runtime.blobs.factory import open_blobs
from aex_runtime.bus.factory import open_bus
from aex_runtime.identity.local_key import local_key
from aex_runtime.identity.principals import Principal
from aex_runtime.identity.tokens import LocalIssuer
from aex_runtime.service import Backends
from aex_runtime.store.port import Store
from aex_settlement.main import create_app
from aex_settlement.settings import Settings
from tests.browser.books import FIRST, keep_books
from tests.browser.running import Running, running
from tests.services.settlement.counter import Counter
from tests.services.settlement.ledger_kit import LedgerKit, ledger_kit_over, open_store


@dataclass
class Served(Running):
    """The running service."""

    counter: Counter = field(init=False)

    @property
    def now(self) -> datetime:
        return self.counter.ledger.clock.now()

    def token(self, who: Principal) -> str:
        """A token for a principal."""
        return self.counter.issuer.mint(who.id, who.role)


@contextmanager
def served(folder: Path, *, filled: bool = True) -> Iterator[Served]:
    """A service of its own; `filled` with two months of settlements."""

    @asynccontextmanager
    async def application(service: Served) -> AsyncIterator[FastAPI]:
        async with open_store("sqlite", folder) as store:
            app, settlement, issuer = _application(store, folder / "data")
            inside = httpx.ASGITransport(app)
            async with httpx.AsyncClient(transport=inside, base_url="http://settlement") as client:
                service.counter = Counter(settlement, client, issuer)
                if filled:
                    await keep_books(service.counter)
            yield app

    with running(Served, application) as service:
        yield service


def _application(store: Store, data_dir: Path) -> tuple[FastAPI, LedgerKit, LocalIssuer]:
    settlement = ledger_kit_over(store, FIRST)
    deps = settlement.deps
    backends = Backends(store, open_bus("memory:"), open_blobs("memory:"), deps.clock, deps.ids)
    app = create_app(Settings(data_dir=data_dir), backends)
    return app, settlement, LocalIssuer(local_key(data_dir), deps.clock, deps.ids)

"""The settlement service on a real port and real SQLite, on a clock that tests move, in a thread with its own loop."""

import asyncio
import socket
import threading
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import httpx
import uvicorn
from fastapi import FastAPI

from aex_runtime.blobs.factory import open_blobs
from aex_runtime.bus.factory import open_bus
from aex_runtime.identity.local_issuer import LocalIssuer
from aex_runtime.identity.local_key import local_key
from aex_runtime.identity.principal import Principal
from aex_runtime.service import Backends
from aex_runtime.store.port import Store
from aex_settlement.main import create_app
from aex_settlement.settings import Settings
from tests.browser.books import FIRST, keep_books
from tests.services.settlement.counter import Counter
from tests.services.settlement.desk import Desk, desk_over, open_store

T = TypeVar("T")
_PATIENCE_S = 60


@dataclass
class Served:
    """The running service."""

    port: int
    counter: Counter = field(init=False)
    loop: asyncio.AbstractEventLoop = field(init=False)

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def now(self) -> datetime:
        """What its clock says."""
        return self.counter.desk.clock.now()

    def token(self, who: Principal) -> str:
        """A token for a principal."""
        return self.counter.issuer.mint(who.id, who.role)

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Run something where the service runs."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(_PATIENCE_S)


@contextmanager
def served(folder: Path, *, filled: bool = True) -> Iterator[Served]:
    """A service of its own; `filled` with two months of settlements."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        service = Served(listening.getsockname()[1])
        ready, stop = threading.Event(), asyncio.Event()

        async def run() -> None:
            async with open_store("sqlite", folder) as store:
                app, desk, issuer = _application(store, folder / "data")
                inside = httpx.ASGITransport(app)
                async with httpx.AsyncClient(transport=inside, base_url="http://settlement") as client:
                    service.counter, service.loop = Counter(desk, client, issuer), asyncio.get_running_loop()
                    if filled:
                        await keep_books(service.counter)
                # Without its life: the tests seal by hand, on their own clock.
                server = uvicorn.Server(
                    uvicorn.Config(app, lifespan="off", log_config=None, access_log=False, ws="none")
                )
                serving = asyncio.create_task(server.serve([listening]))
                ready.set()
                await stop.wait()
                server.should_exit = True
                await serving

        thread = threading.Thread(target=asyncio.run, args=(run(),), name="served")
        thread.start()
        try:
            assert ready.wait(_PATIENCE_S)
            yield service
        finally:
            service.loop.call_soon_threadsafe(stop.set)
            thread.join(_PATIENCE_S)


def _application(store: Store, data_dir: Path) -> tuple[FastAPI, Desk, LocalIssuer]:
    desk = desk_over(store, FIRST)
    deps = desk.deps
    backends = Backends(store, open_bus("memory:"), open_blobs("memory:"), deps.clock, deps.ids)
    app = create_app(Settings(data_dir=data_dir), backends)
    return app, desk, LocalIssuer(local_key(data_dir), deps.clock, deps.ids)

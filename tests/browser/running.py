"""A service on a real port, in a thread with its own loop."""

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import uvicorn
from fastapi import FastAPI

from aex_runtime.identity.principals import Principal
from aex_runtime.identity.tokens import LocalIssuer
from tests.browser.books import FIRST, keep_books
from tests.services.settlement.counter import Counter, open_counter
from tests.services.settlement.ledger_kit import ledger_kit_over, open_store

T = TypeVar("T")
_TIMEOUT_S = 60


@dataclass
class Running:
    """The running service."""

    port: int
    loop: asyncio.AbstractEventLoop = field(init=False)
    issuer: LocalIssuer = field(init=False)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def token(self, who: Principal) -> str:
        return self.issuer.mint(who.id, who.role)

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Run something where the service runs."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(_TIMEOUT_S)


R = TypeVar("R", bound=Running)


@contextmanager
def running(make: Callable[[int], R], application: Callable[[R], AbstractAsyncContextManager[FastAPI]]) -> Iterator[R]:
    """Serve the application that `application` opens until the test is done with it."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()  # connections wait from here on
        service = make(listening.getsockname()[1])
        ready, stop = threading.Event(), asyncio.Event()

        async def run() -> None:
            service.loop = asyncio.get_running_loop()
            async with application(service) as app:
                # Without its life: what runs behind the requests the tests do by hand, on their own clock.
                config = uvicorn.Config(app, lifespan="off", log_config=None, access_log=False, ws="none")
                server = uvicorn.Server(config)
                serving = asyncio.create_task(server.serve([listening]))
                ready.set()
                await stop.wait()
                server.should_exit = True
                await serving

        thread = threading.Thread(target=asyncio.run, args=(run(),), name="served")
        thread.start()
        try:
            assert ready.wait(_TIMEOUT_S)
            yield service
        finally:
            service.loop.call_soon_threadsafe(stop.set)
            thread.join(_TIMEOUT_S)


@dataclass
class Served(Running):
    """The settlement service on real SQLite, on a clock that tests move."""

    counter: Counter = field(init=False)


@contextmanager
def served(folder: Path, *, filled: bool = True) -> Iterator[Served]:
    """Serve a settlement service of its own; `filled` with two months of settlements."""

    @asynccontextmanager
    async def application(service: Served) -> AsyncIterator[FastAPI]:
        async with (
            open_store("sqlite", folder) as store,
            open_counter(ledger_kit_over(store, FIRST), folder / "data") as counter,
        ):
            service.counter, service.issuer = counter, counter.issuer
            if filled:
                await keep_books(counter)
            yield counter.app

    with running(Served, application) as service:
        yield service

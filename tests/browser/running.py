"""An application on a real port, in a thread with its own loop."""

import asyncio
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import uvicorn
from fastapi import FastAPI

T = TypeVar("T")
_TIMEOUT_S = 60


@dataclass
class Running:
    """The running service."""

    port: int
    loop: asyncio.AbstractEventLoop = field(init=False)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Run something where the service runs."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(_TIMEOUT_S)


R = TypeVar("R", bound=Running)


@contextmanager
def running(make: Callable[[int], R], application: Callable[[R], AbstractAsyncContextManager[FastAPI]]) -> Iterator[R]:
    """The application that `application` opens, served until the test is done with it."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
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

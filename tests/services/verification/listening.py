"""Application of verification in this process, and a reader that receives each piece as it is sent."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

from fastapi import FastAPI
from starlette.types import ASGIApp, Message

from aex_models.audiences import Audience
from aex_runtime.clock import Clock
from aex_runtime.http.body import MemoryBudget
from aex_runtime.http.large_pages import LargePages
from aex_runtime.http.limits import RateBounds, RateLimits
from aex_runtime.http.problems import add_problem_handlers
from aex_runtime.http.streaming import OpenStreams
from aex_runtime.identity.principals import Principal
from aex_verification.api import routes
from tests.parts.verification import VerificationBench

TIME_LIMIT_S = 60.0


class TokensWithAnEnd:
    """A token is `role:id` and valid for `lasts` from each request on."""

    def __init__(self, clock: Clock, lasts: timedelta) -> None:
        self._clock, self._lasts = clock, lasts

    async def verify(self, token: str) -> Principal:
        role, _, name = token.partition(":")
        return Principal(name, Audience(role), None, self._clock.now() + self._lasts)


def application(bench: VerificationBench, lasts: timedelta = timedelta(hours=1)) -> FastAPI:
    app = FastAPI()
    app.router.routes += routes(bench.deps).routes
    add_problem_handlers(app)
    app.state.verifier = TokensWithAnEnd(bench.clock, lasts)
    app.state.cursor_key, app.state.in_flight, app.state.open_streams = b"key", set(), OpenStreams()
    app.state.large_pages = LargePages()
    app.state.rate_limits, app.state.memory_budget = RateLimits(RateBounds(), time.monotonic), MemoryBudget()
    return app


class Reader:
    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.stuck = False
        """True if it accepts no piece after the first, as a socket with full buffers."""
        self.blocked = asyncio.Event()
        """Set once a piece is not accepted."""
        self.over = self._begun = False
        self._gone = asyncio.Event()
        self._frames: asyncio.Queue[str] = asyncio.Queue()
        self.request: asyncio.Task[None] | None = None

    def begin(self, app: ASGIApp, path: str, headers: Mapping[str, str]) -> None:
        fields = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        scope = {"type": "http", "method": "GET", "path": path, "query_string": b"", "headers": fields}

        async def run() -> None:
            await app(scope, self._receive, self._send)

        self.request = asyncio.create_task(run())

    async def _receive(self) -> Message:
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode(): value.decode() for name, value in message["headers"]}
            return
        if self.stuck and self._begun:
            self.blocked.set()
            await asyncio.Event().wait()
        self._begun = True
        for frame in message["body"].decode().split("\n\n"):
            if frame:
                self._frames.put_nowait(frame)
        self.over = not message.get("more_body", False)

    def go(self) -> None:
        self._gone.set()

    async def ended(self) -> None:
        assert self.request is not None
        async with asyncio.timeout(TIME_LIMIT_S):
            await self.request

    async def frame(self) -> dict[str, str]:
        async with asyncio.timeout(TIME_LIMIT_S):
            text = await self._frames.get()
        fields = (line.partition(": ") for line in text.split("\n"))
        return {name: value for name, _, value in fields}

    async def event(self) -> dict[str, Any]:
        while True:
            frame = await self.frame()
            if "data" in frame:
                data: dict[str, Any] = json.loads(frame["data"])
                assert (frame["id"], frame["event"]) == (str(data["seq"]), data["type"])
                return data

    async def problem(self) -> dict[str, Any]:
        await self.ended()
        assert self.headers["content-type"] == "application/problem+json"
        found: dict[str, Any] = json.loads(self._frames.get_nowait())
        return found

    async def rest(self) -> list[dict[str, Any]]:
        await self.ended()
        frames = [self._frames.get_nowait() for _ in range(self._frames.qsize())]
        lines = [line for frame in frames for line in frame.split("\n") if line.startswith("data: ")]
        return [json.loads(line.removeprefix("data: ")) for line in lines]


Follow = Callable[..., Reader]


@asynccontextmanager
async def listening(app: ASGIApp) -> AsyncIterator[Follow]:
    readers: list[Reader] = []

    def follow(caller: str, last_event_id: str | None = None, contract_id: str = "ctr_1") -> Reader:
        headers = {"Authorization": f"Bearer {caller}"}
        headers |= {"Last-Event-ID": last_event_id} if last_event_id is not None else {}
        reader = Reader()
        reader.begin(app, f"/v1/contracts/{contract_id}/events", headers)
        readers.append(reader)
        return reader

    yield follow
    for reader in readers:
        if reader.request is not None and not reader.request.done():
            reader.go()
            await reader.ended()

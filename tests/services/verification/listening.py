"""A reader of one answer of an application in this process, that gets each piece when it is sent."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from starlette.types import ASGIApp, Message

from aex_models.audiences import Audience
from aex_runtime.clock import Clock
from aex_runtime.http.body_room import BodyRoom
from aex_runtime.http.event_stream import OpenStreams
from aex_runtime.http.idempotency import InFlight
from aex_runtime.http.problems import add_problem_handlers
from aex_runtime.http.rate_limit import RateBounds, RateLimits
from aex_runtime.identity.principal import Principal
from aex_verification.api import routes
from tests.parts.verification import VerificationBench

PATIENCE_S = 10.0


class TokensWithAnEnd:
    """A token is `role:id`, and good for the given time from each request on."""

    def __init__(self, clock: Clock, lasts: Any) -> None:
        self._clock, self._lasts = clock, lasts

    async def verify(self, token: str) -> Principal:
        role, _, name = token.partition(":")
        return Principal(name, Audience(role), None, self._clock.now() + self._lasts)


def application(bench: VerificationBench, lasts: Any) -> FastAPI:
    """The service's routes over the bench, as `build_app` mounts them."""
    app = FastAPI()
    app.router.routes += routes(bench.deps).routes
    add_problem_handlers(app)
    app.state.verifier = TokensWithAnEnd(bench.clock, lasts)
    app.state.cursor_key, app.state.in_flight, app.state.open_streams = b"key", InFlight(), OpenStreams()
    app.state.rate_limits, app.state.body_room = RateLimits(RateBounds(), time.monotonic), BodyRoom()
    return app


class Reader:
    """One request, and what has been sent in answer so far. It can stop reading, and it can go away."""

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.stuck = False
        """Whether it takes nothing more, as a socket whose buffers are full."""
        self.over = False
        """Whether the answer came to its proper end."""
        self._gone = asyncio.Event()
        self._frames: asyncio.Queue[str] = asyncio.Queue()
        self.request: asyncio.Task[None] | None = None

    def begin(self, app: ASGIApp, path: str, headers: Mapping[str, str]) -> None:
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": "GET",
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "root_path": "",
            "headers": [(name.lower().encode(), value.encode()) for name, value in headers.items()],
            "server": ("verification", 80),
            "client": ("reader", 1),
        }
        self.request = asyncio.create_task(self._run(app, scope))

    async def _run(self, app: ASGIApp, scope: dict[str, Any]) -> None:
        await app(scope, self._receive, self._send)

    async def _receive(self) -> Message:
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Message) -> None:
        if self.stuck:
            await asyncio.Event().wait()
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode(): value.decode() for name, value in message["headers"]}
            return
        for frame in message["body"].decode().split("\n\n"):
            if frame:
                self._frames.put_nowait(frame)
        self.over = not message.get("more_body", False)

    def go(self) -> None:
        """Close the connection."""
        self._gone.set()

    async def ended(self) -> None:
        """Until the application is done with the request."""
        assert self.request is not None
        async with asyncio.timeout(PATIENCE_S):
            await self.request

    async def frame(self) -> dict[str, str]:
        """The next frame's fields; of a comment under the empty name."""
        async with asyncio.timeout(PATIENCE_S):
            text = await self._frames.get()
        fields = (line.partition(": ") for line in text.split("\n"))
        return {name: value for name, _, value in fields}

    async def event(self) -> dict[str, Any]:
        """The next event's data; comments are passed over."""
        while True:
            frame = await self.frame()
            if "data" in frame:
                data: dict[str, Any] = json.loads(frame["data"])
                assert (frame["id"], frame["event"]) == (str(data["seq"]), data["type"])
                return data

    async def problem(self) -> dict[str, Any]:
        """The problem document that came instead."""
        await self.ended()
        assert self.headers["content-type"] == "application/problem+json"
        found: dict[str, Any] = json.loads(self._frames.get_nowait())
        return found

    async def rest(self) -> list[dict[str, Any]]:
        """Every further event until the answer ends."""
        await self.ended()
        frames = [self._frames.get_nowait() for _ in range(self._frames.qsize())]
        lines = [line for frame in frames for line in frame.split("\n") if line.startswith("data: ")]
        return [json.loads(line.removeprefix("data: ")) for line in lines]


Follow = Callable[..., Reader]


@asynccontextmanager
async def listening(app: ASGIApp) -> AsyncIterator[Follow]:
    """Follows contracts; whatever still reads at the end goes away, and nothing may be left."""
    readers: list[Reader] = []

    def follow(caller: str, last_event_id: str | None = None, contract_id: str = "ctr_1") -> Reader:
        headers = {"Authorization": f"Bearer {caller}"}
        headers |= {"Last-Event-ID": last_event_id} if last_event_id is not None else {}
        reader = Reader()
        reader.begin(app, f"/v1/contracts/{contract_id}/events", headers)
        readers.append(reader)
        return reader

    yield follow
    left = [reader for reader in readers if reader.request is not None and not reader.request.done()]
    for reader in left:
        reader.go()
    for reader in left:
        await reader.ended()

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field
from inspect import isasyncgen, isgenerator
from itertools import islice
from threading import Thread
from time import sleep
from typing import Any, Protocol

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from aex_client import AexClient, AsyncAexClient, Endpoints, RetryPolicy
from aex_client.call_attempts import FIVE_ATTEMPTS


@dataclass(frozen=True, slots=True)
class Fault:
    """An answer given once, before the real ones."""

    status: int
    code: str = "test_fault"
    headers: dict[str, str] = field(default_factory=dict)
    after_effect: bool = False
    """True if the request takes effect nonetheless, as with a lost answer."""


@dataclass(slots=True)
class Platform:
    """Works and faults."""

    faults: list[Fault] = field(default_factory=list)
    seen: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    works: list[dict[str, Any]] = field(default_factory=list)
    by_key: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def keys(self) -> list[str | None]:
        """The idempotency keys that came, in order."""
        return [headers.get("idempotency-key") for _, _, headers in self.seen]

    async def publish(self, request: Request) -> Response:
        self._note(request)
        fault = self.faults.pop(0) if self.faults else None
        body = await request.json()
        if fault is not None and not fault.after_effect:
            return _problem(fault)
        work = self._publish(body, request.headers.get("idempotency-key"))
        return _problem(fault) if fault is not None else JSONResponse(work, 201)

    async def list_works(self, request: Request) -> Response:
        self._note(request)
        if self.faults:
            return _problem(self.faults.pop(0))
        start = int(request.query_params.get("cursor", "0"))
        end = start + int(request.query_params.get("limit", "50"))
        items = [{name: each[name] for name in each if name not in {"quote", "warnings"}} for each in self.works]
        return JSONResponse({"items": items[start:end], "next_cursor": str(end) if end < len(items) else None})

    async def strange(self, request: Request) -> Response:
        """An answer that no version of the client knows."""
        self._note(request)
        return Response(b"<html>a proxy's page</html>", 200, media_type="text/html")

    def app(self) -> Starlette:
        """The application."""
        return Starlette(
            routes=[
                Route("/v1/work", self.publish, methods=["POST"]),
                Route("/v1/work", self.list_works),
                Route("/v1/contracts/{contract_id}", self.strange),
            ]
        )

    def _note(self, request: Request) -> None:
        self.seen.append((request.method, str(request.url.path), dict(request.headers)))

    def _publish(self, body: dict[str, Any], key: str | None) -> dict[str, Any]:
        if key is not None and key in self.by_key:
            return self.by_key[key]
        end = {"base": "0.1", "bonus": "0", "penalty": "0", "total": "0.1", "success": True}
        work = {
            "work_id": f"work_{len(self.works)}",
            "consumer_id": "acme",
            "domain": "general",
            "status": "open",
            "created_at": "2025-03-01T12:00:00Z",
            "quote": {"currency": "USD", "minimum": end, "maximum": end},
            "a_field_of_next_year": {"deep": True},
            **body,
        }
        self.works.append(work)
        if key is not None:
            self.by_key[key] = work
        return work


def _problem(fault: Fault) -> Response:
    document = {"status": fault.status, "code": fault.code, "detail": "as told", "request_id": "req_1", "errors": []}
    return Response(json.dumps(document), fault.status, fault.headers, "application/problem+json")


class Cut(Exception):
    """An aborted connection."""


async def stream(parts: Iterable[bytes | str], *, cut: bool = False) -> AsyncIterator[bytes | str]:
    """Yield the parts of an answer; `cut`: then abort the connection."""
    for part in parts:
        yield part
    if cut:
        raise Cut


@dataclass
class Both:
    """The client of a `kind`, sync or async, and the pauses that it made."""

    kind: str
    retries: RetryPolicy = FIVE_ATTEMPTS
    pauses: list[float] = field(default_factory=list)
    token: Any = "t"
    jitter: float = 0.5

    async def call(self, endpoints: Endpoints, method: str, *args: Any, most: int = 9_999, **named: Any) -> Any:
        """Return the result of a method, or a list of the first `most` items that it yields."""
        settings: dict[str, Any] = {"retries": self.retries, "jitter": lambda: self.jitter}
        if self.kind == "sync":
            with AexClient(endpoints, self.token, sleep=self.pauses.append, **settings) as client:
                made = await asyncio.to_thread(getattr(client, method), *args, **named)
                return await asyncio.to_thread(lambda: list(islice(made, most))) if isgenerator(made) else made

        async def sleep(seconds: float) -> None:
            self.pauses.append(seconds)

        async with AsyncAexClient(endpoints, self.token, sleep=sleep, **settings) as async_client:
            made = getattr(async_client, method)(*args, **named)
            if not isasyncgen(made):
                return await made
            found: list[Any] = []
            async with aclosing(made) as items:
                async for each in items:
                    found.append(each)
                    if len(found) == most:
                        break
            return found


class Served(Protocol):
    """Something with an application."""

    def app(self) -> Starlette: ...


@contextmanager
def served(platform: Served) -> Iterator[str]:
    """The application on a port of this machine; gives its URL."""
    # No log_config: uvicorn's closes all other handlers, and absl's then closes the stream that pytest captures.
    config = uvicorn.Config(
        platform.app(), port=0, log_config=None, log_level="critical", ws="none", lifespan="off", loop="asyncio"
    )
    server = uvicorn.Server(config)
    thread = Thread(target=server.run)
    thread.start()
    while not server.started:
        sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(10)

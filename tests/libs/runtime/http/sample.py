"""A small service on the kit: notes that a consumer writes, with an event and a timer for each."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import httpx
import uvicorn
from fastapi import APIRouter, Body, Depends, FastAPI, Response
from opentelemetry.trace import TracerProvider

from aex_models.audiences import Audience
from aex_models.criteria import SuccessCriteria
from aex_models.events import ContractCancelled, Event
from aex_models.frozen import Frozen, Instant, StrictInt
from aex_runtime.blobs.factory import open_blobs
from aex_runtime.bus.memory import MemoryBus
from aex_runtime.clock import Clock, WallClock, epoch_micros
from aex_runtime.errors import NotFound
from aex_runtime.http.app import build_app
from aex_runtime.http.auth import ANYONE, Allow, Principal
from aex_runtime.http.connections import AbortableProtocol
from aex_runtime.http.idempotency import IdempotentRequest, idempotent_request, run_idempotent
from aex_runtime.http.large_pages import PageReader
from aex_runtime.http.listing import Listing, encoded_json_response, read_page_as_json
from aex_runtime.http.pagination import PageRequest, page_request
from aex_runtime.http.routing import service_router
from aex_runtime.ids import RandomIds
from aex_runtime.records import Timer
from aex_runtime.service import Backends, ServiceParts, assemble
from aex_runtime.settings import RuntimeSettings
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import Collection, Index
from aex_runtime.store.table import Table
from aex_runtime.unit_of_work import Unit
from tests.bus.messages import eventually

SERVICE = "work-publisher"
until = eventually
Consumer = Annotated[Principal, Depends(Allow("consumer"))]
Reader = Annotated[Principal, Depends(Allow("consumer", "operator"))]
Anyone = Annotated[Principal, Depends(Allow(*ANYONE))]
Idempotent = Annotated[IdempotentRequest, Depends(idempotent_request)]
Paging = Annotated[PageRequest, Depends(page_request)]


class NoteSubmission(Frozen):
    text: str
    stars: StrictInt = 0
    score: float | None = None
    success_criteria: SuccessCriteria | None = None


class Note(Frozen):
    note_id: str
    owner: str
    text: str
    created_at: Instant


NOTES = Table(
    Collection("notes", (Index(("owner",), "created_at"),)),
    Note,
    lambda note: {"owner": note.owner, "created_at": epoch_micros(note.created_at)},
)


@dataclass
class Sample:
    """Sample service with its handled events, fired timers and written notes."""

    app: FastAPI
    parts: ServiceParts
    events: list[Event] = field(default_factory=list)
    timers: list[Timer] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    """The note ids that the effect made, whether or not they were committed."""

    def token(self, role: str = "consumer", sub: str = "acme", **claims: Any) -> str:
        return self.parts.local_issuer.mint(sub, role, claims.pop("audiences", [SERVICE]), **claims)

    def client(self, role: str | None = "consumer", sub: str = "acme") -> httpx.AsyncClient:
        """A client in the same process, with a token unless the role is None."""
        headers = {} if role is None else {"Authorization": f"Bearer {self.token(role, sub)}"}
        return httpx.AsyncClient(transport=httpx.ASGITransport(self.app), base_url="http://sample", headers=headers)


def sample(
    data_dir: Path,
    backends: Backends | None = None,
    extra: Callable[[APIRouter], None] | None = None,
    tracers: TracerProvider | None = None,
    settings: RuntimeSettings | None = None,
    **options: Any,
) -> Sample:
    """The sample over a memory store and bus; `extra` adds routes."""
    chosen = settings or RuntimeSettings(data_dir=data_dir)
    parts = assemble(SERVICE, chosen, backends or memory_backends(), tracers)
    made = Sample(FastAPI(), parts)
    router = _routes(made)
    if extra is not None:
        extra(router)

    async def cancelled(event: Event) -> None:
        made.events.append(event)

    async def remind(timer: Timer) -> None:
        made.timers.append(timer)

    made.app = build_app(
        parts, router, subscriptions={"contract.cancelled": cancelled}, timers={"remind": remind}, **options
    )
    return made


def memory_backends(clock: Clock | None = None) -> Backends:
    time = clock or WallClock()
    return Backends(MemoryStore(), MemoryBus(time), open_blobs("memory:"), time, RandomIds())


@asynccontextmanager
async def alive(app: FastAPI) -> AsyncIterator[None]:
    async with app.router.lifespan_context(app):
        yield


@asynccontextmanager
async def serving(app: Any, **options: Any) -> AsyncIterator[tuple[uvicorn.Server, int]]:
    """Run the app behind a real server; yield it with its port."""
    fixed: dict[str, Any] = {"port": 0, "log_config": None, "access_log": False, "http": AbortableProtocol}
    server = uvicorn.Server(uvicorn.Config(app, **(fixed | options)))
    running = asyncio.create_task(server.serve())
    await until(lambda: server.started or running.done())
    try:
        yield server, server.servers[0].sockets[0].getsockname()[1]
    finally:
        server.should_exit = True
        await running


def _routes(made: Sample) -> APIRouter:
    router = service_router(prefix="/v1", tags=["notes"])
    store = made.parts.backends.store

    @router.post("/notes", status_code=201)
    async def write(
        body: NoteSubmission, consumer: Consumer, request: Idempotent, response: Response
    ) -> dict[str, Any]:
        effect = await run_idempotent(made.parts.unit_of_work, request, lambda unit: _write(unit, made, body, consumer))
        response.headers.update(effect.headers)
        return await one(effect.resource_id, consumer)

    @router.get("/notes", response_model=dict[str, Any])
    async def many(reader: Reader, paging: Paging, colour: str | None = None) -> Response:
        del colour
        listing = Listing(NOTES, [{"owner": reader.id}], "created_at", "asc")
        return encoded_json_response(await read_page_as_json(store, listing, paging, _render))

    @router.get("/notes/{note_id}")
    async def one(note_id: str, reader: Reader) -> dict[str, Any]:
        stored = await NOTES.get(store, note_id)
        if stored is None or (stored.record.owner != reader.id and reader.role is Audience.CONSUMER):
            raise NotFound("no_such_note", "there is no such note")
        return stored.record.model_dump(mode="json")

    @router.post("/echo")
    async def echo(body: Annotated[Any, Body()], _: Anyone) -> dict[str, Any]:
        return {"type": type(body).__name__, "text": getattr(body, "text", None)}

    @router.get("/contracts/{contract_id}/ping")
    async def ping(contract_id: str, _: Anyone) -> dict[str, str]:
        return {"contract_id": contract_id}

    return router


async def _render(_: PageReader, note: Note) -> dict[str, Any]:
    return note.model_dump(mode="json")


async def _write(unit: Unit, made: Sample, body: NoteSubmission, consumer: Principal) -> str:
    note_id = made.parts.backends.ids.new("note")
    made.writes.append(note_id)
    unit.create(NOTES, note_id, Note(note_id=note_id, owner=consumer.id, text=body.text, created_at=unit.now))
    unit.emit("contract.cancelled", note_id, ContractCancelled(contract_id=note_id, work_id=note_id), note_id)
    unit.set_timer("remind", note_id, unit.now + timedelta(milliseconds=1))
    return note_id

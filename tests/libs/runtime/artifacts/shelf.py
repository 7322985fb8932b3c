"""Service with the artifact routes only, in the process or behind a real server."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import uvicorn
from fastapi import APIRouter

from aex_runtime.artifacts import Uploads, artifact_routes, uploads_table
from aex_runtime.http.auth import Allow, Principal
from aex_runtime.http.connections import AbortableProtocol
from aex_runtime.http.streaming import TransferRate
from aex_runtime.http.upload import MIN_RATE
from aex_runtime.service import Backends, open_backends
from aex_runtime.settings import RuntimeSettings
from aex_runtime.unit_of_work import UnitOfWork
from tests.libs.runtime.http.sample import SERVICE, Sample, sample, until

MAX_BYTES = 30_000_000


@dataclass
class Shelf:
    made: Sample
    backends: Backends
    blobs: Path
    url: str = "http://sample"

    def client(self, sub: str = "acme", role: str = "consumer") -> httpx.AsyncClient:
        if self.url == "http://sample":
            return self.made.client(role, sub)
        headers = {"Authorization": f"Bearer {self.made.token(role, sub)}"}
        return httpx.AsyncClient(base_url=self.url, headers=headers, timeout=30)

    def files(self) -> list[Path]:
        return sorted(path for path in self.blobs.rglob("*") if path.is_file())


@asynccontextmanager
async def opened(folder: Path, min_rate: TransferRate = MIN_RATE) -> AsyncIterator[Shelf]:
    settings = RuntimeSettings(data_dir=folder / "aex", store_url="memory:", bus_url="memory:")
    backends = open_backends(settings, SERVICE)
    work = UnitOfWork(SERVICE, backends.store, backends.clock, lambda _: None)
    uploads = Uploads(uploads_table(SERVICE), "data", backends.blobs, backends.store, work, MAX_BYTES)

    async def size_of(reader: Principal, digest: str) -> int | None:
        found = await uploads.find(reader.role, reader.id, [digest])
        return found[digest].size if found else None

    def add(router: APIRouter) -> None:
        parties = Allow("consumer", "agent")
        router.routes += artifact_routes(uploads, parties, parties, size_of, min_rate).routes

    yield Shelf(sample(folder / "aex", backends, add), backends, folder / "aex" / "blobs")
    await backends.bus.close()
    await backends.store.close()


@asynccontextmanager
async def served(folder: Path, min_rate: TransferRate = MIN_RATE) -> AsyncIterator[Shelf]:
    async with opened(folder, min_rate) as shelf:
        config = uvicorn.Config(shelf.made.app, port=0, log_config=None, access_log=False, http=AbortableProtocol)
        server = uvicorn.Server(config)
        running = asyncio.create_task(server.serve())
        await until(lambda: server.started or running.done())
        shelf.url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
        yield shelf
        server.should_exit = True
        await running

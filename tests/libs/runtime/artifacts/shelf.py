"""A service that does nothing but take files, over a real server where streams matter."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
import uvicorn
from fastapi import APIRouter

from aex_runtime.artifacts.routes import artifact_routes
from aex_runtime.artifacts.uploads import Uploads, uploads_table
from aex_runtime.http.auth import Allow, Principal
from aex_runtime.http.connections import AbortableProtocol
from aex_runtime.http.download import Pace
from aex_runtime.http.upload import PACE
from aex_runtime.service import Backends, open_backends
from aex_runtime.settings import RuntimeSettings
from aex_runtime.unit_of_work import UnitOfWork
from tests.libs.runtime.http.sample import SERVICE, Sample, sample, until

MAX_BYTES = 30_000_000


@dataclass
class Shelf:
    """The service, and what it keeps."""

    made: Sample
    backends: Backends
    blobs: Path
    url: str = "http://sample"

    def client(self, sub: str = "acme", role: str = "consumer") -> httpx.AsyncClient:
        """A client over the network, or in the same process where nothing is served."""
        if self.url == "http://sample":
            return self.made.client(role, sub)
        headers = {"Authorization": f"Bearer {self.made.token(role, sub)}"}
        return httpx.AsyncClient(base_url=self.url, headers=headers, timeout=30)

    def files(self) -> list[Path]:
        """All files among the blobs."""
        return sorted(place for place in self.blobs.rglob("*") if place.is_file())


@asynccontextmanager
async def opened(folder: Path, pace: Pace = PACE) -> AsyncIterator[Shelf]:
    """The service on embedded backends, not served."""
    settings = RuntimeSettings(data_dir=folder / "aex", store_url="memory:", bus_url="memory:")
    backends = open_backends(settings, SERVICE)
    work = UnitOfWork(SERVICE, backends.store, backends.clock, lambda _: None)
    uploads = Uploads(uploads_table(SERVICE), "data", backends.blobs, backends.store, work, MAX_BYTES)

    async def size_of(reader: Principal, digest: str) -> int | None:
        found = await uploads.of(reader.role, reader.id, [digest])
        return found[digest].size if found else None

    def add(router: APIRouter) -> None:
        parties = Allow("consumer", "agent")
        router.routes += artifact_routes(uploads, parties, parties, size_of, pace).routes

    yield Shelf(sample(folder / "aex", backends, add), backends, folder / "aex" / "blobs")
    await backends.bus.close()
    await backends.store.close()


@asynccontextmanager
async def served(folder: Path, pace: Pace = PACE) -> AsyncIterator[Shelf]:
    """The same behind a real server."""
    async with opened(folder, pace) as shelf:
        config = uvicorn.Config(shelf.made.app, port=0, log_config=None, access_log=False, http=AbortableProtocol)
        server = uvicorn.Server(config)
        running = asyncio.create_task(server.serve())
        await until(lambda: server.started or running.done())
        shelf.url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
        yield shelf
        server.should_exit = True
        await running

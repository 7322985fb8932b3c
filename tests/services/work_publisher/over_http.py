"""The service's application over backends in memory, and its clients."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from aex_models.canonical import canonical_bytes
from aex_models.events import Event
from aex_runtime.blobs.factory import open_blobs
from aex_runtime.bus.memory import MemoryBus
from aex_runtime.clock import SetClock
from aex_runtime.identity.local_key import load_or_create_key
from aex_runtime.identity.principals import Principal
from aex_runtime.identity.tokens import LocalIssuer
from aex_runtime.ids import RandomIds
from aex_runtime.records import outbox_table
from aex_runtime.service import Backends
from aex_runtime.store.memory import MemoryStore
from aex_runtime.store.port import key_of
from aex_work_publisher.main import create_app
from aex_work_publisher.repository import AWARDS, WORKS
from aex_work_publisher.settings import Settings
from tests.services.work_publisher.samples import NOW, submission


@dataclass
class Api:
    """The service over HTTP."""

    app: Any
    issuer: LocalIssuer
    backends: Backends

    def client(self, caller: Principal | None = None) -> httpx.AsyncClient:
        headers = {}
        if caller is not None:
            token = self.issuer.mint(caller.id, caller.role, ["work-publisher"], caller.org)
            headers["Authorization"] = f"Bearer {token}"
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
        return httpx.AsyncClient(transport=transport, base_url="http://work-publisher", headers=headers)

    async def publish(self, caller: Principal, **changes: Any) -> dict[str, Any]:
        answer = await self.client(caller).post("/v1/work", json=submission(**changes))
        assert answer.status_code == 201, answer.text
        published: dict[str, Any] = answer.json()
        return published

    async def events(self) -> list[Event]:
        found = await outbox_table("work-publisher").find(self.backends.store, order="created_at", limit=500)
        return [stored.record.event for stored in found]

    async def stored(self, work_id: str, contract_id: str) -> bytes:
        store = self.backends.store
        documents = [
            await store.get(WORKS.collection, key_of(work_id)),
            await store.get(AWARDS.collection, key_of(contract_id)),
        ]
        kept = [document.body + canonical_bytes(dict(document.fields)) for document in documents if document]
        assert len(kept) == 2
        return b"".join([*kept, *(canonical_bytes(event) for event in await self.events())])


def open_api(folder: Path, **settings: Any) -> Api:
    clock, ids = SetClock(NOW), RandomIds()
    backends = Backends(MemoryStore(), MemoryBus(clock, ids), open_blobs("memory:"), clock, ids)
    app = create_app(Settings(data_dir=folder, fee_rate="0.05", **settings), backends)
    return Api(app, LocalIssuer(load_or_create_key(folder), clock, ids), backends)

"""The service's API as its callers meet it: the whole application, in process, with real tokens."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

from aex_governance.main import create_app
from aex_governance.settings import Settings
from aex_models.audiences import Audience
from aex_runtime.blobs.factory import open_blobs
from aex_runtime.bus.factory import open_bus
from aex_runtime.clock import SetClock
from aex_runtime.data_dir import open_data_dir
from aex_runtime.identity.local_issuer import LocalIssuer
from aex_runtime.identity.local_key import local_key
from aex_runtime.identity.principal import Principal
from aex_runtime.ids import SeededIds
from aex_runtime.service import Backends
from aex_runtime.store.port import Store
from tests.services.governance.asking import NOW

OLGA = Principal("olga", Audience.OPERATOR)
SERVICE = Principal("service:verification", Audience.SERVICE)


@dataclass
class Counter:
    """A client of the API, and the store behind it."""

    store: Store
    client: httpx.AsyncClient
    issuer: LocalIssuer

    async def ask(self, who: Principal | None, path: str, **params: Any) -> httpx.Response:
        """GET as this caller; None carries no token."""
        headers = {} if who is None else {"Authorization": f"Bearer {self.issuer.mint(who.id, who.role)}"}
        return await self.client.get(path, params=params, headers=headers)

    async def profile(self, who: Principal, agent_id: str, **params: Any) -> Any:
        """The profile in an answer that must be a 200."""
        answer = await self.ask(who, profile_path(agent_id), **params)
        assert answer.status_code == 200, answer.text
        return answer.json()


def profile_path(agent_id: str) -> str:
    """The address of an agent's profile."""
    return f"/v1/agents/{quote(agent_id, safe='')}/profile"


def agent(name: str) -> Principal:
    """An agent of this name."""
    return Principal(name, Audience.AGENT)


@asynccontextmanager
async def open_counter(store: Store, folder: Path) -> AsyncIterator[Counter]:
    """The application over a store."""
    clock, ids = SetClock(NOW), SeededIds(1)
    app = create_app(Settings(data_dir=folder), Backends(store, open_bus("memory:"), open_blobs("memory:"), clock, ids))
    issuer = LocalIssuer(local_key(open_data_dir(folder)), clock, ids)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://governance") as client:
        yield Counter(store, client, issuer)

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute

from aex_cli.suite.service_spec import MODULES
from aex_runtime.clock import WallClock
from aex_runtime.http.auth import Allow
from aex_runtime.http.routing import find_dependency
from aex_runtime.identity.local_key import load_or_create_key
from aex_runtime.identity.tokens import LocalIssuer
from aex_runtime.ids import RandomIds
from aex_runtime.pages.errors import PageRoute
from aex_runtime.pages.sign_in import AllowNoPage
from tests.security.apps import app_of


def _requests(app: FastAPI) -> Iterator[tuple[str, str, str]]:
    """Yield method, path and role of each route; forms of pages are checked before their query."""
    for route in app.routes:
        assert isinstance(route, APIRoute)
        guard = find_dependency(route, Allow)
        for method in set(route.methods or ()) - {"HEAD"}:
            if not (isinstance(guard, AllowNoPage) or (isinstance(route, PageRoute) and method == "POST")):
                yield method, route.path_format, min(guard.roles) if guard else "consumer"


@pytest.mark.parametrize("service", MODULES)
async def test_every_route_refuses_an_invented_parameter(service: str, tmp_path: Path) -> None:
    app = app_of(service, tmp_path)
    issuer = LocalIssuer(load_or_create_key(tmp_path), WallClock(), RandomIds())
    found = {}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://service") as client:
        for method, path, role in _requests(app):
            headers = {"Authorization": f"Bearer {issuer.mint('me', role)}", "Idempotency-Key": "k"}
            answer = await client.request(method, f"{path}?invented=1", headers=headers)
            is_refused = answer.status_code == 422 and "there is no query parameter invented" in answer.text
            found[f"{method} {path}"] = is_refused
    assert {"GET /healthz", "GET /metrics", "GET /openapi.json", "GET /docs"} <= found.keys()
    assert [route for route, is_refused in found.items() if not is_refused] == []

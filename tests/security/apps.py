"""The four applications in this process: their routes, and answers with one guard removed."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI
from fastapi.routing import APIRoute, iter_route_contexts
from starlette.types import Receive, Scope, Send
from structlog.testing import capture_logs

from aex_cli.suite.service_spec import MODULES
from aex_runtime.http.auth import Allow, Principal
from aex_runtime.http.routing import find_dependency
from aex_runtime.pages.sessions import Session
from aex_runtime.service import Backends, open_backends
from aex_runtime.settings import RuntimeSettings
from tests.security.matrix import ROLES, Route
from tests.security.probing import Ask, bearer, request_of


def app_of(service: str, data_dir: Path, backends: Backends | None = None) -> FastAPI:
    """Create the application of a service."""
    settings = import_module(f"{MODULES[service]}.settings").Settings(data_dir=data_dir)
    app: FastAPI = import_module(f"{MODULES[service]}.main").create_app(settings, backends)
    return app


def _guards_of(service: str, app: FastAPI) -> Iterator[tuple[Route, Allow | None]]:
    """Yield each route with its guard; HEAD is GET without a body."""
    for context in iter_route_contexts(app.routes):
        original = context.original_route
        guard = find_dependency(original, Allow) if isinstance(original, APIRoute) else None
        for method in sorted(set(context.methods or ()) - {"HEAD"}):
            yield Route(service, method, str(context.path)), guard


def all_guards(data_dir: Path) -> dict[Route, Allow | None]:
    return {route: guard for service in MODULES for route, guard in _guards_of(service, app_of(service, data_dir))}


@dataclass(frozen=True, slots=True)
class InProcess:
    """The four applications on a suite's data, answering without background tasks."""

    apps: Mapping[str, FastAPI]
    runner: asyncio.Runner
    anonymous: Principal | None = None
    """Principal of every request that is not authenticated."""

    @property
    def guards(self) -> Mapping[Route, Allow | None]:
        return {route: guard for service, app in self.apps.items() for route, guard in _guards_of(service, app)}

    def send(self, service: str, expected: Ask, query: Mapping[str, Any], token: str | None) -> httpx.Response:
        return self.runner.run(self._send(service, expected, query, token))

    async def _send(self, service: str, expected: Ask, query: Mapping[str, Any], token: str | None) -> httpx.Response:
        if expected.path == "/v1/verify":
            expected = replace(expected, body={})  # a valid one would start confined workers
        base, credential = f"http://{service}", bearer(token)

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            known = {"principal": self.anonymous, "session": Session(self.anonymous, "")} if self.anonymous else {}
            await self.apps[service]({**scope, "state": known}, receive, send)

        async with httpx.AsyncClient(transport=httpx.ASGITransport(app)) as client:
            page = (await client.get(base + expected.page, headers=credential)).text if expected.page else None
            return await client.send(request_of(client.build_request, expected, base, query, credential, page))

    def without_authentication(self, guard: Allow) -> "InProcess":
        """Return the same with every caller treated as one that the guard admits."""
        return replace(self, anonymous=Principal("unknown-caller", min(guard.roles, key=ROLES.index)))


@contextmanager
def admitting_every_role(guard: Allow) -> Iterator[None]:
    roles, guard.roles = guard.roles, frozenset(ROLES)
    try:
        yield
    finally:
        guard.roles = roles


@contextmanager
def in_process(data_dir: Path) -> Iterator[InProcess]:
    settings = RuntimeSettings(data_dir=data_dir)
    backends = {service: open_backends(settings, service) for service in MODULES}
    with asyncio.Runner() as runner, capture_logs():
        yield InProcess({service: app_of(service, data_dir, each) for service, each in backends.items()}, runner)
        for each in backends.values():
            runner.run(each.bus.close())
            runner.run(each.store.close())

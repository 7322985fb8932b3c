"""Applications with one guard removed, to check the checker; the real ones are not changed."""

import asyncio
import copy
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx
from fastapi import FastAPI, Request
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute, iter_route_contexts, request_response
from starlette.routing import compile_path
from structlog.testing import capture_logs

from aex_models.audiences import Audience
from aex_runtime.errors import Forbidden, Unauthenticated
from aex_runtime.http.auth import ANYONE, Allow, Principal
from aex_runtime.http.routing import find_dependency
from aex_runtime.pages.sessions import AllowSession, Session
from aex_runtime.service import open_backends
from aex_runtime.settings import RuntimeSettings
from tests.security.apps import MAKERS
from tests.security.asks import Ask
from tests.security.matrix import Route
from tests.security.probing import bearer, request_of

Replacement = Callable[[Allow], Allow]
"""Function from a guard to its replacement."""


def for_every_role(guard: Allow) -> Allow:
    return AllowSession(guard.site, *ANYONE) if isinstance(guard, AllowSession) else Allow(*ANYONE)


def without_guard(guard: Allow) -> Allow:
    return _OpenPage(guard) if isinstance(guard, AllowSession) else _Open(*guard.roles)


class _Open(Allow):
    async def __call__(self, request: Request) -> Principal:
        try:
            return await super().__call__(request)
        except (Unauthenticated, Forbidden):
            request.state.principal = _somebody(self.roles)
            return _somebody(self.roles)


class _OpenPage(AllowSession):
    def __init__(self, guard: AllowSession) -> None:
        super().__init__(guard.site, *guard.roles)

    async def __call__(self, request: Request) -> Principal:
        try:
            return await super().__call__(request)
        except (Unauthenticated, Forbidden):
            request.state.session = Session(_somebody(self.roles), "")
            request.state.principal = _somebody(self.roles)
            return _somebody(self.roles)


def _somebody(roles: frozenset[Audience]) -> Principal:
    return Principal("unknown-caller", min(roles, key=list(Audience).index))


@dataclass(frozen=True, slots=True)
class InProcess:
    """The four applications on a suite's data, answering without background tasks."""

    apps: Mapping[str, FastAPI]
    runner: asyncio.Runner

    def send(self, service: str, expected: Ask, query: Mapping[str, Any], token: str | None) -> httpx.Response:
        """A `Send` that reaches them."""
        return self.runner.run(self._send(service, expected, query, token))

    async def _send(self, service: str, expected: Ask, query: Mapping[str, Any], token: str | None) -> httpx.Response:
        if expected.path == "/v1/verify":
            expected = replace(expected, body={})  # a valid one would start confined workers
        base, credential = f"http://{service}", bearer(token)
        async with httpx.AsyncClient(transport=httpx.ASGITransport(self.apps[service])) as client:
            page = None
            if expected.page:
                page = (await client.get(base + expected.page, headers=credential)).text
            return await client.send(request_of(client.build_request, expected, base, query, credential, page))

    @contextmanager
    def without_guard(self, route: Route, instead: Replacement) -> Iterator[None]:
        routes = self.apps[route.service].router.routes
        routes.insert(0, _reguarded(self.apps[route.service], route, instead))
        try:
            yield
        finally:
            del routes[0]


@contextmanager
def in_process(data_dir: Path) -> Iterator[InProcess]:
    settings = RuntimeSettings(data_dir=data_dir)
    backends = {service: open_backends(settings, service) for service in MAKERS}
    with asyncio.Runner() as runner, capture_logs():
        yield InProcess({service: make(data_dir, backends[service]) for service, make in MAKERS.items()}, runner)
        for each in backends.values():
            runner.run(each.bus.close())
            runner.run(each.store.close())


def _reguarded(app: FastAPI, expected: Route, instead: Replacement) -> APIRoute:
    for context in iter_route_contexts(app.routes):
        original = context.original_route
        if isinstance(original, APIRoute) and (context.path, expected.method) in {
            (expected.path, method) for method in original.methods or ()
        }:
            changed = copy.copy(original)
            changed.path_regex, changed.path_format, changed.param_convertors = compile_path(expected.path)
            changed.dependant = _with(original.dependant, instead)
            changed.app = request_response(changed.get_route_handler())
            assert find_dependency(changed, Allow) is not find_dependency(original, Allow)
            return changed
    raise LookupError(f"no route {expected}")


def _with(dependant: Dependant, instead: Replacement) -> Dependant:
    call = instead(dependant.call) if isinstance(dependant.call, Allow) else dependant.call
    return replace(dependant, call=call, dependencies=[_with(each, instead) for each in dependant.dependencies])

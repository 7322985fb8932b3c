"""A governance service with one guard taken away, for the check of the checker. Nothing of the real one is touched."""

import asyncio
import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import httpx
from fastapi import APIRouter, Depends, FastAPI
from fastapi.routing import APIRoute
from structlog.testing import capture_logs

from aex_governance.api import routes
from aex_governance.deps import Deps
from aex_governance.main import SERVICE
from aex_governance.review import review_routes
from aex_governance.rules.config import load_rules
from aex_governance.settings import Settings
from aex_models.audiences import Audience
from aex_runtime.http.app import build_app
from aex_runtime.http.auth import ANYONE, Allow, Principal
from aex_runtime.http.routing import service_router
from aex_runtime.service import ServiceParts, assemble
from tests.security.probing import Send, bearer
from tests.security.recipes import Ask


@dataclass(frozen=True, slots=True)
class Altered:
    """An application, and the parts that have to be closed after it."""

    app: FastAPI
    parts: ServiceParts


def with_anybody_reading_holds(data_dir: Path) -> Altered:
    """The service composed as in its `main`, but that every role may read a hold."""
    settings = Settings(data_dir=data_dir)
    parts = assemble(SERVICE, settings)
    rules = load_rules(settings.rules_config)
    deps = Deps(parts.unit_of_work, parts.backends.store, parts.backends.clock, rules)
    router = _reguarded(routes(deps), "/v1/holds/{hold_id}", ANYONE)
    router.routes += review_routes(parts, deps).routes
    return Altered(build_app(parts, router), parts)


def _reguarded(original: APIRouter, path: str, roles: tuple[Audience, ...]) -> APIRouter:
    """The same routes on a new router; the one at `path` admits `roles`."""
    router = service_router()
    for route in original.routes:
        assert isinstance(route, APIRoute)
        endpoint = _admitting(route.endpoint, roles) if route.path == path else route.endpoint
        router.add_api_route(route.path, endpoint, methods=list(route.methods or ()), status_code=route.status_code)
    return router


def _admitting(endpoint: Callable[..., Any], roles: tuple[Audience, ...]) -> Callable[..., Any]:
    """An endpoint that does as `endpoint` does, for callers in these roles, shown what an operator is shown."""
    signature = inspect.signature(endpoint)
    guard = Annotated[Principal, Depends(Allow(*roles))]
    caller = next(name for name, each in signature.parameters.items() if "Principal" in str(each.annotation))

    async def admit(**values: Any) -> Any:
        return await endpoint(**values)

    parameters = [
        each.replace(annotation=guard) if name == caller else each for name, each in signature.parameters.items()
    ]
    admit.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]  # read by FastAPI
    return admit


@contextmanager
def in_process(altered: Altered) -> Iterator[Send]:
    """Requests to an application that is not started: it answers, and does nothing behind the answers."""
    with asyncio.Runner() as runner, capture_logs():
        client = httpx.AsyncClient(transport=httpx.ASGITransport(altered.app), base_url="http://altered")

        def send(_service: str, wanted: Ask, query: Mapping[str, Any], token: str | None) -> httpx.Response:
            headers = bearer(token)
            return runner.run(
                client.request(wanted.method, wanted.path, params=dict(query), json=wanted.body, headers=headers)
            )

        yield send
        runner.run(client.aclose())
        runner.run(altered.parts.close())

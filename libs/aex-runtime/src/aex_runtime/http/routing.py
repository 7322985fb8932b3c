"""Routes of a service: authenticated before anything is read, bodies parsed strictly, errors documented."""

from collections.abc import Callable, Coroutine, Iterator
from enum import Enum
from typing import Any

import structlog
from fastapi import APIRouter, Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.params import Form
from fastapi.routing import APIRoute

from aex_runtime.http.auth import Allow, Principal
from aex_runtime.http.body import StrictRequest
from aex_runtime.http.problems import problem_responses
from aex_runtime.http.query_parameters import check_parameters, taken_by
from aex_runtime.telemetry import describe_span
from aex_runtime.tracing.subjects import about

_LOGGED_PARAMETERS = ("contract_id", "work_id")


class Public:
    """Marks a route that answers without a token, with the reason: `dependencies=[Depends(Public("sign-in"))]`."""

    def __init__(self, reason: str) -> None:
        self.reason = reason

    async def __call__(self) -> None:  # not awaited, it would be called in a thread: of every health check
        """Admits everybody."""


class ServiceRoute(APIRoute):
    """A route whose caller is known before its body is read, and whose body is strict JSON."""

    strict_query = False
    """Whether query parameters that the route does not take are refused; else they are ignored."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        reads_json = self.body_field is not None and not isinstance(self.body_field.field_info, Form)
        allow = allow_of(self)
        taken = taken_by(self.dependant) if self.strict_query else None

        async def strictly(request: Request) -> Response:
            strict = StrictRequest(request.scope, request.receive)
            _bind_subject(request)
            if allow is not None:
                principal = await allow(strict)
                structlog.contextvars.bind_contextvars(principal=principal.id, role=principal.role.value)
            if taken is not None:
                check_parameters(strict, taken)
            with strict.given_room(_caller(strict)):
                if reads_json:
                    await strict.load()
                return await handle(strict)

        return strictly


class StrictQueryRoute(ServiceRoute):
    """A route that refuses query parameters that it does not take."""

    strict_query = True


def service_router(prefix: str = "", tags: list[str | Enum] | None = None, *, strict_query: bool = False) -> APIRouter:
    """The router that a service declares its routes on.

    `strict_query`: a query parameter that a route does not take, or not more than once, is answered with a 422.
    """
    route = StrictQueryRoute if strict_query else ServiceRoute
    return APIRouter(prefix=prefix, tags=tags, route_class=route, responses=problem_responses())


def joined(*routers: APIRouter) -> APIRouter:
    """All routes on one router, as they are: `include_router` builds each once more, and matches each request twice."""
    whole = APIRouter()
    whole.routes += [route for router in routers for route in router.routes]
    return whole


def allow_of(route: APIRoute) -> Allow | None:
    """The `Allow` that guards a route; its `roles` are who may call it."""
    return next((call for call in _calls(route.dependant) if isinstance(call, Allow)), None)


def public_of(route: APIRoute) -> Public | None:
    """The mark of a route that needs no token."""
    return next((call for call in _calls(route.dependant) if isinstance(call, Public)), None)


def _calls(dependant: Dependant) -> Iterator[Any]:
    for each in dependant.dependencies:
        yield each.call
        yield from _calls(each)


def _caller(request: Request) -> str:
    """Who takes up room here. What is open to anybody is read by anybody."""
    principal = getattr(request.state, "principal", None)
    return f"{principal.issuer}:{principal.role.value}:{principal.id}" if isinstance(principal, Principal) else ""


def _bind_subject(request: Request) -> None:
    named = {name: request.path_params[name] for name in _LOGGED_PARAMETERS if name in request.path_params}
    if named:
        structlog.contextvars.bind_contextvars(**named)
        describe_span(about(*named.values()))

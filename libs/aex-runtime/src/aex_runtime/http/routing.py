"""Routes of a service, which authenticate callers before they read a body, and check parameters."""

from collections.abc import Callable, Coroutine, Iterator, Mapping
from enum import Enum
from typing import Any, TypeVar, get_args, get_origin

import structlog
from fastapi import APIRouter, Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.params import Form
from fastapi.routing import APIRoute

from aex_models.validation_messages import format_suggestion
from aex_models.work import Problem
from aex_runtime.errors import Unprocessable, summarize_problems
from aex_runtime.http.auth import Allow, Principal
from aex_runtime.http.body import StrictRequest
from aex_runtime.http.problems import openapi_problem_responses
from aex_runtime.http.strict_json import MAX_PROBLEMS
from aex_runtime.telemetry import add_span_attributes
from aex_runtime.tracing.spans import build_span_attributes_of_ids

T = TypeVar("T")
_LOGGED_PARAMETERS = ("contract_id", "work_id")
_MAX_NAME_CHARS = 64


class Public:
    """A dependency that marks a route as open to every caller, with the reason.

    Use: `dependencies=[Depends(Public("sign-in"))]`.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason

    async def __call__(self) -> None:  # a plain function would be called in a thread, at each health check
        """Admit every caller."""


class QueryNames:
    """A dependency that names query parameters which a route reads from the request itself.

    Use: `Depends(QueryNames("next", "ended"))`.
    """

    def __init__(self, *names: str) -> None:
        self.names = names

    async def __call__(self) -> None:
        """Accept these parameters."""


class ServiceRoute(APIRoute):
    """A route that authenticates its caller before it reads the body, which must be strict JSON.

    Unknown and repeated query parameters are refused, so that no filter is ignored by mistake.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()
        reads_json = self.body_field is not None and not isinstance(self.body_field.field_info, Form)
        allow = find_dependency(self, Allow)
        parameters = _query_parameters(self.dependant)

        async def handle_strictly(request: Request) -> Response:
            strict = StrictRequest(request.scope, request.receive)
            _bind_subject(request)
            if allow is not None:
                principal = await allow(strict)
                structlog.contextvars.bind_contextvars(principal=principal.id, role=principal.role.value)
            _check_query_parameters(strict, parameters)
            with strict.reserve_memory(_caller(strict)):
                if reads_json:
                    await strict.read_and_parse_body()
                return await handle(strict)

        return handle_strictly


def service_router(prefix: str = "", tags: list[str | Enum] | None = None) -> APIRouter:
    """Return a router whose routes are `ServiceRoute` and document the error responses."""
    return APIRouter(prefix=prefix, tags=tags, route_class=ServiceRoute, responses=openapi_problem_responses())


def join_routers(*routers: APIRouter) -> APIRouter:
    """Return one router with the routes of all.

    FastAPI's `include_router` would build each route again and match requests twice.
    """
    combined = APIRouter()
    combined.routes += [route for router in routers for route in router.routes]
    return combined


def find_dependency(route: APIRoute, kind: type[T]) -> T | None:
    """Return the route's first dependency of class `kind`, such as its `Allow`; None if it has none."""
    return next((each.call for each in _dependencies(route.dependant) if isinstance(each.call, kind)), None)


def _dependencies(dependant: Dependant) -> Iterator[Dependant]:
    for each in dependant.dependencies:
        yield each
        yield from _dependencies(each)


def _caller(request: Request) -> str:
    """Return the caller's key in the memory budget; all anonymous callers have the same."""
    principal = getattr(request.state, "principal", None)
    return f"{principal.issuer}:{principal.role.value}:{principal.id}" if isinstance(principal, Principal) else ""


def _bind_subject(request: Request) -> None:
    subject = {name: request.path_params[name] for name in _LOGGED_PARAMETERS if name in request.path_params}
    if subject:
        structlog.contextvars.bind_contextvars(**subject)
        add_span_attributes(build_span_attributes_of_ids(*subject.values()))


def _query_parameters(dependant: Dependant) -> Mapping[str, bool]:
    """Return the query parameters of a route and its dependencies, each with whether it may be repeated."""
    known = dict[str, bool]()
    for each in (dependant, *_dependencies(dependant)):
        if isinstance(each.call, QueryNames):
            known.update(dict.fromkeys(each.call.names, False))
        known.update((declared.alias, _is_list(declared.field_info.annotation)) for declared in each.query_params)
    return known


def _check_query_parameters(request: Request, allowed: Mapping[str, bool]) -> None:
    """Raise `Unprocessable` with a problem for each parameter that is unknown or wrongly repeated."""
    query = request.query_params
    found = (_parameter_problem(name, len(query.getlist(name)), allowed) for name in list(query)[:MAX_PROBLEMS])
    problems = [problem for problem in found if problem]
    if problems:
        raise Unprocessable(problems[0].code, summarize_problems(problems), problems)


def _parameter_problem(name: str, times: int, allowed: Mapping[str, bool]) -> Problem | None:
    label = name if len(name) <= _MAX_NAME_CHARS else f"{name[:_MAX_NAME_CHARS]}…"
    if name not in allowed:
        known = f"those of this route are {', '.join(sorted(allowed))}" if allowed else "this route takes none"
        message = f"there is no query parameter {label}: {known}{format_suggestion(name, sorted(allowed))}"
        return Problem(path=f"query/{label}", code="unknown_parameter", message=message)
    if times > 1 and not allowed[name]:
        message = f"the query parameter {label} occurs {times} times: send it once"
        return Problem(path=f"query/{label}", code="repeated_parameter", message=message)
    return None


def _is_list(annotation: object) -> bool:
    return get_origin(annotation) is list or any(_is_list(each) for each in get_args(annotation))

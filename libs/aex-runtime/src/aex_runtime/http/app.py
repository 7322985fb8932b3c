"""Assembly of a service's application: its routes, middleware, lifespan and background tasks."""

import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial

import structlog
from fastapi import APIRouter, FastAPI
from fastapi.routing import iter_route_contexts

from aex_runtime.background import RESTARTS, BackgroundTask
from aex_runtime.bus.consumer import EventMeasures
from aex_runtime.http.auth import Allow
from aex_runtime.http.body import MemoryBudget
from aex_runtime.http.health import AbsenceReason, Probe, build_presence_probe, operation_routes
from aex_runtime.http.large_pages import LargePages
from aex_runtime.http.limits import RATE_LIMITED, RateBounds, RateLimits
from aex_runtime.http.metrics import GaugeSpec
from aex_runtime.http.middleware import UNLOGGED_PATHS, RequestMiddleware
from aex_runtime.http.openapi import docs_routes, install_openapi
from aex_runtime.http.problems import add_problem_handlers
from aex_runtime.http.routing import Public, ServiceRoute, find_dependency, join_routers
from aex_runtime.http.streaming import OpenStreams
from aex_runtime.measures import Spec
from aex_runtime.records import EventHandler, TimerHandler
from aex_runtime.service import ServiceParts

Resource = Callable[[], AbstractAsyncContextManager[object]]
_log = structlog.get_logger(__name__)


class UnguardedRoute(Exception):
    """A route that depends neither on `Allow` nor on `Public`, so that its access is not decided."""


def build_app(
    parts: ServiceParts,
    router: APIRouter,
    *,
    subscriptions: Mapping[str, EventHandler] | None = None,
    timers: Mapping[str, TimerHandler] | None = None,
    tasks: Mapping[str, BackgroundTask] | None = None,
    resources: Sequence[Resource] = (),
    probes: Mapping[str, Probe] | None = None,
    required_parts: Mapping[str, AbsenceReason] | None = None,
    optional_parts: Mapping[str, AbsenceReason] | None = None,
    gauges: Sequence[GaugeSpec] = (),
    measures: Sequence[Spec] = (),
) -> FastAPI:
    """Build the application of a service. Raises `UnguardedRoute`.

    `router` comes from `service_router()`. `tasks` are further background tasks. `resources` are entered before
    background tasks start and left after they have stopped. If a required part becomes absent, the process ends (see
    `process.serve`). An absent optional part is only reported by `/readyz`.
    """
    background = partial(parts.background.run_tasks, subscriptions or {}, timers or {}, tasks)
    app = _create_app(parts, partial(_lifespan, parts, background, resources))
    parts.metrics.declare((RATE_LIMITED, RESTARTS, *EventMeasures(subscriptions or ()).specs(), *measures))
    for gauge in (*parts.gauges(), *gauges):
        parts.metrics.add_gauge(gauge)
    app.state.required_parts = required_parts or {}
    presence = {name: build_presence_probe(part) for name, part in app.state.required_parts.items()}
    operations = operation_routes({**parts.probes(), **(probes or {}), **presence}, parts.metrics, optional_parts)
    app.router.routes += join_routers(router, operations, docs_routes()).routes
    add_problem_handlers(app)
    _check_guards(app)
    app.add_middleware(
        RequestMiddleware,
        ids=parts.backends.ids,
        metrics=parts.metrics,
        templates={each.endpoint: each.path_format or "" for each in iter_route_contexts(app.routes) if each.endpoint},
        tracers=parts.tracers,
        joins_traces=parts.settings.traces_callers == "joined",
    )
    return app


def _create_app(parts: ServiceParts, lifespan: Callable[[FastAPI], AbstractAsyncContextManager[None]]) -> FastAPI:
    """Create an application without routes, with the state that the dependencies of routes read."""
    app = FastAPI(
        title=f"AEX Outcomes: {parts.name}",
        version=parts.version,
        lifespan=lifespan,
        docs_url=None,
        openapi_url=None,  # `docs_routes` serves it
        redoc_url=None,
        redirect_slashes=False,
        telemetry={
            "tracer_provider": parts.tracers,
            "tracing": parts.tracers is not None,
            "metrics": False,
            "logs": False,  # they would quote request data
            "operation_spans": False,
            "auto_configure": False,
            "exclude": lambda scope: scope.get("path") in UNLOGGED_PATHS,
        },
    )
    bounds = RateBounds(parts.settings.rate_limit_per_s, parts.settings.rate_limit_burst)
    app.state.verifier = parts.verifier
    app.state.rate_limits = RateLimits(bounds, time.monotonic, measures=parts.metrics)
    app.state.memory_budget = MemoryBudget()
    app.state.cursor_key = parts.cursor_key
    app.state.large_pages = LargePages()
    app.state.in_flight = set[str]()
    app.state.open_streams = OpenStreams()
    install_openapi(app)
    return app


@asynccontextmanager
async def _lifespan(
    parts: ServiceParts, background: Resource, resources: Sequence[Resource], _app: FastAPI
) -> AsyncIterator[None]:
    async with AsyncExitStack() as stack:
        stack.push_async_callback(parts.close)
        for resource in (*resources, background):
            await stack.enter_async_context(resource())
        _log.info("service_started", service=parts.name)
        yield
        _log.info("service_stopping", service=parts.name)


def _check_guards(app: FastAPI) -> None:
    for context in iter_route_contexts(app.routes):
        route = context.original_route
        name = f"{sorted(context.methods or ())} {context.path}"
        if not isinstance(route, ServiceRoute):
            raise UnguardedRoute(f"{name}: declare it on a router from aex_runtime.http.routing.service_router()")
        if find_dependency(route, Allow) is None and find_dependency(route, Public) is None:
            raise UnguardedRoute(f"{name}: depend on Allow(role, …), or on Public(reason)")

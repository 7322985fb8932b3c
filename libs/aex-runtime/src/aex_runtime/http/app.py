"""Builds a service's application: its routes inside the envelope, its background work behind its life."""

import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial

import structlog
from fastapi import APIRouter, FastAPI
from fastapi.routing import iter_route_contexts

from aex_runtime.background import RESTARTS, Piece
from aex_runtime.bus.measures import EventMeasures
from aex_runtime.handlers import EventHandler, TimerHandler
from aex_runtime.http.body_room import BodyRoom
from aex_runtime.http.docs import docs_routes
from aex_runtime.http.envelope import QUIET, Envelope
from aex_runtime.http.event_stream import OpenStreams
from aex_runtime.http.idempotency import InFlight
from aex_runtime.http.metrics import GaugeSpec
from aex_runtime.http.openapi import describe_api
from aex_runtime.http.operations import operation_routes
from aex_runtime.http.problems import add_problem_handlers
from aex_runtime.http.rate_limit import REFUSED, RateBounds, RateLimits
from aex_runtime.http.readiness import Missing, Probe, there
from aex_runtime.http.routing import ServiceRoute, allow_of, joined, public_of
from aex_runtime.measures import Spec
from aex_runtime.service import ServiceParts
from aex_runtime.settings import RuntimeSettings

Resource = Callable[[], AbstractAsyncContextManager[object]]
_log = structlog.get_logger(__name__)


class UnguardedRoute(Exception):
    """A route that names neither its roles nor a reason to be public."""


def build_app(
    parts: ServiceParts,
    router: APIRouter,
    *,
    subscriptions: Mapping[str, EventHandler] | None = None,
    timers: Mapping[str, TimerHandler] | None = None,
    pieces: Mapping[str, Piece] | None = None,
    resources: Sequence[Resource] = (),
    ready: Mapping[str, Probe] | None = None,
    vital: Mapping[str, Missing] | None = None,
    dispensable: Mapping[str, Missing] | None = None,
    gauges: Sequence[GaugeSpec] = (),
    measures: Sequence[Spec] = (),
) -> FastAPI:
    """The application of a service.

    `router` comes from `service_router()`; each of its routes depends on an `Allow` or is marked `Public`, or
    `UnguardedRoute` is raised. `pieces` are background work of the service's own, by name: kept running, cancelled at
    the end. `resources` (a worker pool, an HTTP client) are entered before background work starts
    and left after it has stopped. `ready` adds probes to those of store, bus and blobs, by name. A `vital`
    part that is missing is so for good: the service is not ready, and the process ends (see `process.serve`); a
    `dispensable` one is told of, and leaves the service ready. `gauges` and `measures`: the service's own.
    """
    metrics = parts.metrics
    metrics.declare((REFUSED, RESTARTS, *EventMeasures(subscriptions or ()).specs(), *measures))
    for gauge in (*parts.gauges(), *gauges):
        metrics.add_gauge(gauge)
    rate_limits = RateLimits(_rate_bounds(parts.settings), time.monotonic, measures=metrics)
    background = partial(parts.background, subscriptions or {}, timers or {}, pieces)
    app = _bare_app(parts, _life(parts, background, resources))
    app.state.rate_limits = rate_limits
    app.state.vital = vital or {}
    asked = {**parts.probes(), **(ready or {}), **{name: there(part) for name, part in app.state.vital.items()}}
    probes = operation_routes(asked, metrics, dispensable)
    app.router.routes += joined(router, probes, docs_routes()).routes
    add_problem_handlers(app)
    describe_api(app)
    _refuse_unguarded(app)
    app.add_middleware(
        Envelope,
        ids=parts.backends.ids,
        metrics=metrics,
        templates=_templates(app),
        tracers=parts.tracers,
        joins=parts.settings.traces_callers == "joined",
    )
    return app


def _bare_app(parts: ServiceParts, life: Callable[[FastAPI], AbstractAsyncContextManager[None]]) -> FastAPI:
    """No routes yet; with what the dependencies of routes look for in its state, but for the rate limits."""
    app = FastAPI(
        title=f"AEX Outcomes: {parts.name}",
        version=parts.version,
        lifespan=life,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry={
            "tracer_provider": parts.tracers,
            "tracing": parts.tracers is not None,
            "metrics": False,
            "logs": False,  # they would quote what was sent
            "operation_spans": False,
            "auto_configure": False,
            "exclude": lambda scope: scope.get("path") in QUIET,
        },
    )
    app.state.verifier = parts.verifier
    app.state.body_room = BodyRoom()
    app.state.cursor_key = parts.cursor_key
    app.state.in_flight = InFlight()
    app.state.open_streams = OpenStreams()
    return app


def _life(
    parts: ServiceParts, background: Resource, resources: Sequence[Resource]
) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def life(_app: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            stack.push_async_callback(parts.close)
            for resource in resources:
                await stack.enter_async_context(resource())
            await stack.enter_async_context(background())
            _log.info("service_started", service=parts.name)
            yield
            _log.info("service_stopping", service=parts.name)

    return life


def _rate_bounds(settings: RuntimeSettings) -> RateBounds:
    return RateBounds(settings.rate_limit_per_s, settings.rate_limit_burst)


def _templates(app: FastAPI) -> dict[object, str]:
    contexts = iter_route_contexts(app.routes)
    return {context.endpoint: context.path_format or "" for context in contexts if context.endpoint is not None}


def _refuse_unguarded(app: FastAPI) -> None:
    for context in iter_route_contexts(app.routes):
        route = context.original_route
        if context.path == app.openapi_url:
            continue
        where = f"{sorted(context.methods or ())} {context.path}"
        if not isinstance(route, ServiceRoute):
            raise UnguardedRoute(f"{where}: declare it on a router from aex_runtime.http.routing.service_router()")
        if allow_of(route) is None and public_of(route) is None:
            raise UnguardedRoute(f"{where}: depend on Allow(role, …), or on Public(reason)")

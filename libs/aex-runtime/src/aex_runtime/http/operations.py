"""The routes that answer without a token: alive, ready, metrics. (Docs and OpenAPI are FastAPI's.)"""

from collections.abc import Mapping
from functools import partial

from fastapi import APIRouter, Depends, Response

from aex_models.work import Problem
from aex_runtime.errors import TemporarilyUnavailable
from aex_runtime.http.metrics import Metrics
from aex_runtime.http.problems import problem_responses
from aex_runtime.http.readiness import Missing, Probe, what_is_down, what_is_missing
from aex_runtime.http.routing import Public, ServiceRoute
from aex_runtime.http.shared import SharedLook

PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"


def operation_routes(
    probes: Mapping[str, Probe], metrics: Metrics, dispensable: Mapping[str, Missing] | None = None
) -> APIRouter:
    """`/healthz`, `/readyz` and `/metrics`.

    Without one of the `probes` a service is not ready. Without a `dispensable` part it is, and says what is missing:
    to take it out of service would take what it still does from everybody. Anybody may ask: those who do at once share
    one look at the parts.
    """
    look, expose = SharedLook(partial(what_is_down, probes)), SharedLook(metrics.exposition)
    router = APIRouter(
        route_class=ServiceRoute,
        tags=["operations"],
        dependencies=[Depends(Public("probes and scrapers carry no token"))],
    )

    @router.get("/healthz", summary="Alive")
    async def alive() -> dict[str, str]:
        return {"status": "alive"}

    @router.get("/readyz", summary="Store, bus and blobs answer", responses=problem_responses(503))
    async def ready() -> dict[str, str | dict[str, str]]:
        """What is `missing` is a part without which the service does the rest of its work."""
        down = await look()
        if down:
            problems = [Problem(path=name, code="down", message=failure) for name, failure in down.items()]
            raise TemporarilyUnavailable("not_ready", f"down: {', '.join(down)}", problems)
        missing = what_is_missing(dispensable or {})
        return {"status": "ready", "missing": missing} if missing else {"status": "ready"}

    @router.get(
        "/metrics",
        summary="Prometheus metrics",
        response_class=Response,
        responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
    )
    async def exposition() -> Response:
        return Response(await expose(), media_type=PROMETHEUS)

    return router

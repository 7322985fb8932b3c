"""Routes for liveness, readiness and metrics, which need no token."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from typing import Any, Generic, TypeVar

import structlog
from fastapi import APIRouter, Depends, Response

from aex_models.work import Problem
from aex_runtime.blobs.port import BlobError
from aex_runtime.bus.port import BusError
from aex_runtime.errors import TemporarilyUnavailable
from aex_runtime.http.metrics import Metrics
from aex_runtime.http.problems import openapi_problem_responses
from aex_runtime.http.routing import Public, ServiceRoute
from aex_runtime.store.port import StoreError

T = TypeVar("T")
Probe = Callable[[], Awaitable[None]]
AbsenceReason = Callable[[], str | None]
"""Function that returns why a part of the service is absent, in words for any caller; None while it is present."""
PROBE_DEADLINE_S = 3.0
PROMETHEUS = "text/plain; version=0.0.4; charset=utf-8"
_LOGGABLE_ERRORS = (StoreError, BusError, BlobError)
"""Errors whose messages quote no content. They are logged, but not returned: any caller may read `/readyz`."""
_log = structlog.get_logger(__name__)


class PartMissing(Exception):
    """A part of the service that is absent. The message is the reason."""


def build_presence_probe(absence: AbsenceReason) -> Probe:
    """Return a probe that raises `PartMissing` while the part is absent."""

    async def probe() -> None:
        reason = absence()
        if reason is not None:
            raise PartMissing(reason)

    return probe


async def failing_probes(probes: Mapping[str, Probe]) -> dict[str, str]:
    """Run all probes at once; return the names of those that fail, each with the kind of its failure.

    A failure is also logged.
    """
    results = await asyncio.gather(*(_run_probe(name, probe) for name, probe in probes.items()))
    return {name: failure for name, failure in zip(probes, results, strict=True) if failure is not None}


async def _run_probe(name: str, probe: Probe) -> str | None:
    try:
        async with asyncio.timeout(PROBE_DEADLINE_S):
            await probe()
    except Exception as error:  # noqa: BLE001 any failure means that the part is not ready
        failure = "no answer in time" if isinstance(error, TimeoutError) else type(error).__name__
        reason = str(error) if isinstance(error, _LOGGABLE_ERRORS) else None
        _log.warning("part_not_ready", part=name, failure=failure, reason=reason)
        return failure
    return None


def missing_parts(parts: Mapping[str, AbsenceReason]) -> dict[str, str]:
    """Return the names of the absent parts, each with the reason."""
    reasons = {name: absence() for name, absence in parts.items()}
    return {name: reason for name, reason in reasons.items() if reason is not None}


class SingleFlight(Generic[T]):
    """A callable whose concurrent callers share one run of `call`.

    A cancelled caller does not cancel the run.
    """

    def __init__(self, call: Callable[[], Coroutine[Any, Any, T]]) -> None:
        self._call = call
        self._running: asyncio.Task[T] | None = None

    async def __call__(self) -> T:
        if self._running is None or self._running.done():
            self._running = asyncio.create_task(self._call())
        return await asyncio.shield(self._running)


def operation_routes(
    probes: Mapping[str, Probe], metrics: Metrics, optional_parts: Mapping[str, AbsenceReason] | None = None
) -> APIRouter:
    """Return the routes `/healthz`, `/readyz` and `/metrics`.

    The service is not ready while a probe fails. An absent optional part is only reported. Concurrent requests share
    one run of the probes, so that anonymous callers cannot multiply their cost.
    """
    check, render = SingleFlight(partial(failing_probes, probes)), SingleFlight(metrics.render)
    public = Depends(Public("probes and scrapers carry no token"))
    router = APIRouter(route_class=ServiceRoute, tags=["operations"], dependencies=[public])

    @router.get("/healthz", summary="Alive")
    async def alive() -> dict[str, str]:
        return {"status": "alive"}

    @router.get("/readyz", summary="Store, bus and blobs answer", responses=openapi_problem_responses(503))
    async def ready() -> dict[str, str | dict[str, str]]:
        """Return the readiness; `missing` names absent parts without which the service does its other work."""
        failures = await check()
        if failures:
            problems = [Problem(path=name, code="down", message=failure) for name, failure in failures.items()]
            raise TemporarilyUnavailable("not_ready", f"down: {', '.join(failures)}", problems)
        missing = missing_parts(optional_parts or {})
        return {"status": "ready", "missing": missing} if missing else {"status": "ready"}

    @router.get(
        "/metrics",
        summary="Prometheus metrics",
        response_class=Response,
        responses={200: {"content": {"text/plain": {"schema": {"type": "string"}}}}},
    )
    async def exposition() -> Response:
        return Response(await render(), media_type=PROMETHEUS)

    return router

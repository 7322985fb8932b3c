"""The settlement service, composed: the only place where its backends are chosen."""

from fastapi import FastAPI
from opentelemetry.trace import TracerProvider

from aex_runtime.http.app import build_app
from aex_runtime.service import Backends, assemble
from aex_settlement.api import routes
from aex_settlement.bell import Bell
from aex_settlement.dashboard import dashboard_routes
from aex_settlement.deps import Deps
from aex_settlement.measures import MEASURES
from aex_settlement.sealer import Sealer
from aex_settlement.settings import Settings
from aex_settlement.subscriptions import subscriptions

SERVICE = "settlement"


def create_app(
    settings: Settings | None = None, backends: Backends | None = None, tracers: TracerProvider | None = None
) -> FastAPI:
    """The application; `tracers` take its spans. Nothing is opened before it starts, unless `backends` are given."""
    parts = assemble(SERVICE, settings or Settings(), backends, tracers)
    bell = Bell()
    deps = Deps(
        unit_of_work=parts.unit_of_work,
        store=parts.backends.store,
        clock=parts.backends.clock,
        ids=parts.backends.ids,
        booked=bell.ring,
    )
    sealer = Sealer(deps, parts.work.leases, bell)
    router = routes(deps)
    router.routes += dashboard_routes(parts, deps).routes
    return build_app(
        parts,
        router,
        subscriptions=subscriptions(deps),
        pieces={"sealer": sealer.run},
        gauges=sealer.gauges(),
        measures=MEASURES,
    )

"""Composition of the settlement service. No other module chooses its storage and event backends."""

from fastapi import FastAPI
from opentelemetry.trace import TracerProvider

from aex_runtime.http.app import build_app
from aex_runtime.service import Backends, assemble
from aex_settlement.api import routes
from aex_settlement.dashboard import dashboard_routes
from aex_settlement.deps import Deps
from aex_settlement.measures import MEASURES
from aex_settlement.sealer import Sealer, WakeupEvent
from aex_settlement.settings import Settings
from aex_settlement.subscriptions import subscriptions

SERVICE = "settlement"


def create_app(
    settings: Settings | None = None, backends: Backends | None = None, tracers: TracerProvider | None = None
) -> FastAPI:
    """Return the service's application; it sends its trace spans to `tracers`.

    `backends` are used where given. Otherwise the application opens those of the settings when it starts.
    """
    parts = assemble(SERVICE, settings or Settings(), backends, tracers)
    wakeup = WakeupEvent()
    deps = Deps(
        unit_of_work=parts.unit_of_work,
        store=parts.backends.store,
        clock=parts.backends.clock,
        ids=parts.backends.ids,
        notify_sealer=wakeup.set,
    )
    sealer = Sealer(deps, parts.background.leases, wakeup)
    router = routes(deps)
    router.routes += dashboard_routes(parts, deps).routes
    return build_app(
        parts,
        router,
        subscriptions=subscriptions(deps),
        tasks={"sealer": sealer.run},
        gauges=sealer.gauges(),
        measures=MEASURES,
    )

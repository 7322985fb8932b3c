"""The settlement service, composed: the only place where its backends are chosen."""

from fastapi import FastAPI

from aex_runtime.http.app import build_app
from aex_runtime.service import Backends, assemble
from aex_settlement.api import routes
from aex_settlement.deps import Deps
from aex_settlement.settings import Settings
from aex_settlement.subscriptions import subscriptions

SERVICE = "settlement"


def create_app(settings: Settings | None = None, backends: Backends | None = None) -> FastAPI:
    """The application. Nothing is opened before it starts, unless `backends` are given."""
    parts = assemble(SERVICE, settings or Settings(), backends)
    deps = Deps(
        unit_of_work=parts.unit_of_work,
        store=parts.backends.store,
        clock=parts.backends.clock,
        ids=parts.backends.ids,
    )
    return build_app(parts, routes(deps), subscriptions=subscriptions(deps))

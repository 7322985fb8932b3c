"""HTTP routes: parse, call one handler, shape the response."""

from fastapi import APIRouter

from aex_runtime.http.routing import service_router
from aex_settlement.api.ledger import account_routes, ledger_routes
from aex_settlement.api.settlements import correction_routes, export_routes, settlement_routes
from aex_settlement.deps import Deps

__all__ = ["routes"]


def routes(deps: Deps) -> APIRouter:
    """Return every route of the service."""
    router = service_router(prefix="/v1", tags=["settlement"])
    export_routes(router, deps)  # before {contract_id}, which would match `export`
    settlement_routes(router, deps)
    correction_routes(router, deps)
    ledger_routes(router, deps)
    account_routes(router, deps)
    return router

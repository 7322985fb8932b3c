"""HTTP routes of the service. Each parses the request, calls one handler, and removes hidden fields."""

from fastapi import APIRouter

from aex_runtime.http.routing import service_router
from aex_settlement.api.ledger import add_account_routes, add_ledger_routes
from aex_settlement.api.settlements import add_export_routes, add_reversal_route, add_settlement_routes
from aex_settlement.deps import Deps

__all__ = ["routes"]


def routes(deps: Deps) -> APIRouter:
    """Return a router with every route of the JSON API."""
    router = service_router(prefix="/v1", tags=["settlement"])
    add_export_routes(router, deps)  # before {contract_id}, which would match `export`
    add_settlement_routes(router, deps)
    add_reversal_route(router, deps)
    add_ledger_routes(router, deps)
    add_account_routes(router, deps)
    return router

"""HTTP in: parse, call one handler, shape the reply. A file for each kind of resource."""

from fastapi import APIRouter

from aex_runtime.http.routing import service_router
from aex_settlement.api.accounts import account_routes
from aex_settlement.api.corrections import correction_routes
from aex_settlement.api.export import export_routes
from aex_settlement.api.ledger import ledger_routes
from aex_settlement.api.settlements import settlement_routes
from aex_settlement.deps import Deps

__all__ = ["routes"]


def routes(deps: Deps) -> APIRouter:
    """Every route of the service."""
    router = service_router(prefix="/v1", tags=["settlement"], strict_query=True)
    export_routes(router, deps)  # before {contract_id}, which would take `export` for a contract
    settlement_routes(router, deps)
    correction_routes(router, deps)
    ledger_routes(router, deps)
    account_routes(router, deps)
    return router

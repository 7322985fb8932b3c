"""HTTP routes of the service. Each parses the request, calls one handler, and removes hidden fields."""

from fastapi import APIRouter

from aex_runtime.http.routing import join_routers
from aex_verification.api.catalog import catalog_routes, domain_routes
from aex_verification.api.contracts import agent_artifact_routes, contract_routes
from aex_verification.api.events import event_routes
from aex_verification.api.outcomes import export_routes, outcome_routes
from aex_verification.api.verify import verify_routes
from aex_verification.api.verify_batch import batch_routes
from aex_verification.deps import Deps


def routes(deps: Deps) -> APIRouter:
    """Return a router with every route of the service."""
    return join_routers(
        contract_routes(deps),
        event_routes(deps),
        export_routes(deps),  # before the outcome of a contract named `export`
        outcome_routes(deps),
        verify_routes(deps),
        batch_routes(deps),
        catalog_routes(deps),
        agent_artifact_routes(deps),
        domain_routes(deps),
    )

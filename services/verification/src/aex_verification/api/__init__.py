"""HTTP in: parse, call one handler, shape the reply."""

from fastapi import APIRouter

from aex_runtime.http.routing import joined
from aex_verification.api.artifacts import artifacts_of_agents
from aex_verification.api.catalog import catalog_routes
from aex_verification.api.contracts import contract_routes
from aex_verification.api.domains import domain_routes
from aex_verification.api.events import event_routes
from aex_verification.api.export import export_routes
from aex_verification.api.outcomes import outcome_routes
from aex_verification.api.verify import verify_routes
from aex_verification.deps import Deps


def routes(deps: Deps) -> APIRouter:
    """Every route of the service."""
    return joined(
        contract_routes(deps),
        event_routes(deps),
        export_routes(deps),  # before the outcome of a contract of that name
        outcome_routes(deps),
        verify_routes(deps),
        catalog_routes(deps),
        artifacts_of_agents(deps),
        domain_routes(deps),
    )

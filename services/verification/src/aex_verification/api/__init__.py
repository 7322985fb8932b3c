"""HTTP in: parse, call one handler, shape the reply."""

from fastapi import APIRouter

from aex_runtime.http.routing import service_router
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
    router = service_router(prefix="/v1")
    router.include_router(contract_routes(deps))
    router.include_router(event_routes(deps))
    router.include_router(export_routes(deps))  # before the outcome of a contract of that name
    router.include_router(outcome_routes(deps))
    router.include_router(verify_routes(deps))
    router.include_router(catalog_routes(deps))
    router.include_router(artifacts_of_agents(deps))
    router.include_router(domain_routes(deps))
    return router

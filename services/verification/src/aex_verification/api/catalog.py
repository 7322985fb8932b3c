"""What can be measured."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends

from aex_models.audiences import project
from aex_runtime.http.auth import ANYONE, Allow, Principal
from aex_runtime.http.routing import service_router
from aex_verification.deps import Deps

Anyone = Annotated[Principal, Depends(Allow(*ANYONE))]


def catalog_routes(deps: Deps) -> APIRouter:
    """`/metrics/catalog`."""
    router = service_router("/v1", tags=["catalog"])

    @router.get("/metrics/catalog", summary="Every metric that a criterion may name")
    async def catalog(reader: Anyone) -> dict[str, Any]:
        return {"items": [project(entry, reader.role) for entry in deps.catalog.entries]}

    return router

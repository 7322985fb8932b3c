"""Outcome records."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends

from aex_runtime.errors import NotFound
from aex_runtime.http.auth import Allow, Principal
from aex_runtime.http.pagination import PageRequest, page_request
from aex_runtime.http.routing import service_router
from aex_verification.deps import Deps
from aex_verification.handlers.read import list_outcomes, may_see, outcome_of, shown_outcome

Readers = Annotated[Principal, Depends(Allow("consumer", "agent", "finance", "operator"))]
Paging = Annotated[PageRequest, Depends(page_request)]
Json = dict[str, Any]


def outcome_routes(deps: Deps) -> APIRouter:
    """`/outcomes` and what lies below it."""
    router = service_router("/v1", tags=["outcomes"])

    @router.get("/outcomes", summary="Outcomes, newest first")
    async def outcomes(reader: Readers, paging: Paging) -> Json:
        return await list_outcomes(deps, reader, paging)

    @router.get("/outcomes/{contract_id}", summary="The outcome of one contract")
    async def get_outcome(contract_id: str, reader: Readers) -> Json:
        record = await outcome_of(deps, contract_id)
        if record is None or not may_see(record, reader):
            raise NotFound("outcome_not_found", "No such outcome")
        return shown_outcome(reader, record)

    return router

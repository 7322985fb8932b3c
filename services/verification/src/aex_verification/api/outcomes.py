"""Routes of outcome records and of their export."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from fastapi.responses import StreamingResponse

from aex_runtime.errors import NotFound
from aex_runtime.exports import export_filename
from aex_runtime.http.auth import Allow, Principal
from aex_runtime.http.limits import ConcurrencyLimiter
from aex_runtime.http.pagination import PageRequest, page_request
from aex_runtime.http.routing import service_router
from aex_runtime.http.streaming import Download
from aex_runtime.periods import DAY
from aex_verification.deps import Deps
from aex_verification.handlers.export_outcomes import OutcomeFilter, export_outcomes
from aex_verification.handlers.read import can_read, find_outcome, list_outcomes, render_outcome
from aex_verification.rules.outcomes import MEDIA_TYPE, OutcomeFormat

Readers = Annotated[Principal, Depends(Allow("consumer", "agent", "finance", "operator"))]
Paging = Annotated[PageRequest, Depends(page_request)]
Json = dict[str, Any]

MAX_EXPORTS_PER_CALLER, MAX_EXPORTS, EXPORTS_FOR_OPERATORS = 2, 4, 1
"""Exports at once in one process; the last slots are for finance and operators."""


def outcome_routes(deps: Deps) -> APIRouter:
    router = service_router("/v1", tags=["outcomes"])

    @router.get("/outcomes", summary="Outcomes, newest first")
    async def outcomes(reader: Readers, paging: Paging) -> Json:
        return await list_outcomes(deps, reader, paging)

    @router.get("/outcomes/{contract_id}", summary="The outcome of one contract")
    async def get_outcome(contract_id: str, reader: Readers) -> Json:
        record = await find_outcome(deps, contract_id)
        if record is None or not can_read(record, reader):
            raise NotFound("outcome_not_found", "No such outcome")
        return render_outcome(reader, record)

    return router


_NAME = r"^[A-Za-z0-9._:@/+-]+$"
Agent = Annotated[str | None, Query(max_length=128, pattern=_NAME, description="Outcomes of this agent alone")]
Consumer = Annotated[str | None, Query(max_length=128, pattern=_NAME, description="Of this consumer's works alone")]
Domain = Annotated[str | None, Query(max_length=300, description="Outcomes of works of this domain alone, by its name")]
Format = Annotated[OutcomeFormat, Query(alias="format", description="What a line is: an outcome record, or a rollout")]
FirstDay = Annotated[
    str | None,
    Query(alias="from", description="First UTC day of `created_at`, such as 2025-01-01", json_schema_extra=DAY),
]
LastDay = Annotated[str | None, Query(alias="to", description="Last UTC day, included", json_schema_extra=DAY)]
_DESCRIPTION = """Outcomes, oldest first, one JSON object a line: a consumer's or an agent's own, finance's and
operators' are all.

- `format=jsonl`: outcome records as `/v1/outcomes/{contract_id}` answers them to the caller.
- `format=rollouts`: each as a rollout. `env_id` is the domain, `policy_id` the agent, `inference_url` the one that the
  agent's execution metadata name, or `aex://contracts/ID?cid=ID`; one episode a contract, one step an attempt, and the
  final weighted score as the reward of the last step and as `mean_return`. An outcome has no line where the caller sees
  no score: where nothing was judged, and for agents where the work's feedback level is `none`.

Contracts that end after the export began are not in it. A response without its proper end is not complete."""
_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"description": "The lines", "content": {MEDIA_TYPE: {"schema": {"type": "string"}}}}
}


def export_routes(deps: Deps) -> APIRouter:
    router = service_router("/v1", tags=["outcomes"])
    limiter = ConcurrencyLimiter(
        MAX_EXPORTS_PER_CALLER, MAX_EXPORTS, "exports", "exports_busy", reserved=EXPORTS_FOR_OPERATORS
    )

    @router.get(
        "/outcomes/export",
        response_class=StreamingResponse,
        responses=_RESPONSES,
        summary="Outcomes as a file, oldest first",
        description=_DESCRIPTION,
    )
    async def get_export(
        reader: Readers,
        export_format: Format = OutcomeFormat.JSONL,
        agent_id: Agent = None,
        consumer_id: Consumer = None,
        domain: Domain = None,
        first_day: FirstDay = None,
        last_day: LastDay = None,
    ) -> Download:
        query = OutcomeFilter(agent_id, consumer_id, domain, first_day, last_day)
        pieces = export_outcomes(deps, reader, query, export_format, limiter)
        name = "outcomes" if export_format is OutcomeFormat.JSONL else "rollouts"
        return Download(pieces, filename=export_filename(name, deps.clock.now(), "jsonl"), media_type=MEDIA_TYPE)

    return router

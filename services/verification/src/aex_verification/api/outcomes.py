"""Routes of outcome records and of their export."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Response
from fastapi.responses import StreamingResponse

from aex_models.frozen import Identifier
from aex_models.work import WorkDomain
from aex_runtime.errors import NotFound
from aex_runtime.exports import export_filename
from aex_runtime.http.auth import Allow, Principal
from aex_runtime.http.limits import ConcurrencyLimiter
from aex_runtime.http.listing import encoded_json_response
from aex_runtime.http.pagination import PageRequest, page_request
from aex_runtime.http.routing import service_router
from aex_runtime.http.streaming import Download
from aex_runtime.periods import DAY
from aex_verification.deps import Deps
from aex_verification.handlers.export_outcomes import OutcomeFilter, export_outcomes
from aex_verification.handlers.lists import list_outcomes
from aex_verification.handlers.read import can_read, find_outcome, render_outcome
from aex_verification.rules.outcomes import MEDIA_TYPE, OutcomeFormat

Readers = Annotated[Principal, Depends(Allow("consumer", "agent", "finance", "operator"))]
Paging = Annotated[PageRequest, Depends(page_request)]
Json = dict[str, Any]

MAX_EXPORTS_PER_CALLER, MAX_EXPORTS, EXPORTS_FOR_OPERATORS = 2, 4, 1
"""Limits of concurrent exports in one process: per caller, in total, and reserved for finance and operators."""
Agent = Annotated[Identifier | None, Query(description="Outcomes of this agent alone")]
Consumer = Annotated[Identifier | None, Query(description="Of this consumer's works alone")]
WorkId = Annotated[Identifier | None, Query(description="The outcome of this work alone")]
Domain = Annotated[WorkDomain | None, Query(description="Outcomes of works of this domain alone, by its name")]
_LIST_DESCRIPTION = """A consumer's or an agent's own outcomes, finance's and operators' are all.

At most two of the filters `agent_id`, `consumer_id`, `work_id` and `domain` at once. A page ends at `limit` items, and
at 1 MB of stored records, with at least one."""


def outcome_routes(deps: Deps) -> APIRouter:
    """Return a router with the list of outcomes and the outcome of one contract."""
    router = service_router("/v1", tags=["outcomes"])

    @router.get("/outcomes", summary="Outcomes, newest first", response_model=Json, description=_LIST_DESCRIPTION)
    async def outcomes(
        reader: Readers,
        paging: Paging,
        agent_id: Agent = None,
        consumer_id: Consumer = None,
        work_id: WorkId = None,
        domain: Domain = None,
    ) -> Response:
        filters = {"agent_id": agent_id, "consumer_id": consumer_id, "work_id": work_id, "domain": domain}
        return encoded_json_response(await list_outcomes(deps, reader, paging, filters))

    @router.get("/outcomes/{contract_id}", summary="The outcome of one contract")
    async def get_outcome(contract_id: str, reader: Readers) -> Json:
        record = await find_outcome(deps, contract_id)
        if record is None or not can_read(record, reader):
            raise NotFound("outcome_not_found", "No such outcome")
        return render_outcome(reader, record)

    return router


Format = Annotated[OutcomeFormat, Query(alias="format", description="What a line is: an outcome record, or a rollout")]
FirstDay = Annotated[
    str | None,
    Query(alias="from", description="First UTC day of `created_at`, such as 2025-01-01", json_schema_extra=DAY),
]
LastDay = Annotated[str | None, Query(alias="to", description="Last UTC day, included", json_schema_extra=DAY)]
_DESCRIPTION = """Outcomes, oldest first, one JSON object a line: a consumer's or an agent's own, finance's and
operators' are all.

- `format=jsonl`: outcome records as `/v1/outcomes/{contract_id}` answers them to the caller.
- `format=rollouts`: each as a rollout. `env_id` is the domain and `policy_id` the agent. `inference_url` is the one in
  the agent's execution metadata, else `aex://contracts/ID?cid=ID`. A rollout has one episode, with one step for each
  attempt. The final weighted score is the reward of the last step, and `mean_return`. A step has text, verdict, score
  and feedback of its attempt if the caller may read the candidate. An outcome without a score that the caller sees has
  no line: nothing was graded, or the caller is an agent and the work's feedback level is `none`.

Contracts that end after the export began are not in it. A response without its proper end is not complete."""
_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"description": "The lines", "content": {MEDIA_TYPE: {"schema": {"type": "string"}}}}
}


def export_routes(deps: Deps) -> APIRouter:
    """Return a router with the route `/outcomes/export`."""
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

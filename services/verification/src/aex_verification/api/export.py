"""The export: outcomes as a file."""

from datetime import UTC
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from fastapi.responses import StreamingResponse

from aex_runtime.http.auth import Allow, Principal
from aex_runtime.http.download import Download
from aex_runtime.http.routing import service_router
from aex_runtime.http.turnstile import Turnstile
from aex_runtime.periods import DAY
from aex_verification.deps import Deps
from aex_verification.handlers.export_outcomes import OutcomeFilter, export_outcomes
from aex_verification.rules.outcome_formats import MEDIA_TYPE, OutcomeFormat

MAX_OF_ONE, MAX_OF_ALL, KEPT = 2, 4, 1
"""How many exports run at once in one process, and how many of these places are for those who see all."""
Readers = Annotated[Principal, Depends(Allow("consumer", "agent", "finance", "operator"))]
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
  final weighted score as the reward of the last step and as `mean_return`. An outcome of which the caller is told no
  score has no line: where nothing was judged, and for agents where the work's feedback level is `none`.

What ends after the export began is not in it. An answer that does not come to its proper end is not complete."""
_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"description": "The lines", "content": {MEDIA_TYPE: {"schema": {"type": "string"}}}}
}


def export_routes(deps: Deps) -> APIRouter:
    """`/outcomes/export`."""
    router = service_router("/v1", tags=["outcomes"])
    turnstile = Turnstile(MAX_OF_ONE, MAX_OF_ALL, "exports", "exports_busy", kept=KEPT)

    @router.get(
        "/outcomes/export",
        response_class=StreamingResponse,
        responses=_RESPONSES,
        summary="Outcomes as a file, oldest first",
        description=_DESCRIPTION,
    )
    async def get_export(
        reader: Readers,
        written: Format = OutcomeFormat.JSONL,
        agent_id: Agent = None,
        consumer_id: Consumer = None,
        domain: Domain = None,
        first_day: FirstDay = None,
        last_day: LastDay = None,
    ) -> Download:
        wanted = OutcomeFilter(agent_id, consumer_id, domain, first_day, last_day)
        pieces = export_outcomes(deps, reader, wanted, written, turnstile)
        now = deps.clock.now().astimezone(UTC)
        what = "outcomes" if written is OutcomeFormat.JSONL else "rollouts"
        return Download(pieces, filename=f"{what}-{now:%Y%m%dT%H%M%SZ}.jsonl", media_type=MEDIA_TYPE)

    return router

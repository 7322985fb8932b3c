"""A contract's events, followed as they come."""

import json
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Request, Response
from fastapi.sse import format_sse_event

from aex_runtime.http.auth import Allow, Principal
from aex_runtime.http.event_stream import MEDIA_TYPE, EventStream
from aex_runtime.http.routing import service_router
from aex_verification.deps import Deps
from aex_verification.handlers.follow_contract import MAX_DIGITS, first_to_tell, follow_contract

Parties = Annotated[Principal, Depends(Allow("consumer", "agent", "operator"))]
LastEventId = Annotated[
    str | None,
    Header(
        alias="Last-Event-ID",
        description="The `id` of the last event that was read",
        json_schema_extra={"pattern": f"^[0-9]{{0,{MAX_DIGITS}}}$"},
    ),
]
RETRY_MS = 1_000
_EXAMPLE = (
    "event: verification_rejected\n"
    'data: {"contract_id": "ctr_…", "seq": 1, "type": "verification_rejected", "attempts_used": 1, …}\n'
    "id: 1\n\n"
)
_EVENT: dict[str, Any] = {
    "description": "One event of the stream",
    "type": "object",
    "properties": {
        "event": {"type": "string"},
        "data": {"type": "string", "contentMediaType": "application/json"},
        "id": {"type": "string", "pattern": "^[0-9]+$"},
        "retry": {"type": "integer"},
    },
}
_ANSWERS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The events, as server-sent events: `id` is the `seq`, `event` the `type`, `data` the event",
        "content": {MEDIA_TYPE: {"schema": _EVENT, "example": _EXAMPLE}},
    },
    204: {"description": "The contract is over, and its last event was read: nothing will follow"},
}


def event_routes(deps: Deps) -> APIRouter:
    """`/contracts/{contract_id}/events`."""
    router = service_router("/v1", tags=["contracts"])

    async def place(reader: Parties) -> AsyncIterator[None]:
        # Left once the answer has been sent to its end, or its reader has gone.
        async with deps.followers.admitted(reader):
            yield

    @router.get(
        "/contracts/{contract_id}/events",
        status_code=200,
        summary="Follow a contract",
        response_class=EventStream,
        responses=_ANSWERS,
        dependencies=[Depends(place)],
    )
    async def follow(
        contract_id: str, reader: Parties, request: Request, last_event_id: LastEventId = None
    ) -> Response:
        """Every event of the contract, from the first, or from the one after `Last-Event-ID`, on any instance.

        The stream ends after the contract's last event. It ends before, too, after some minutes and with the token:
        come back with the last id that was read. Comments are sent where nothing else is.
        """
        after = await first_to_tell(deps, reader, contract_id, last_event_id)
        if after is None:
            return Response(status_code=204)
        return EventStream(
            _frames(follow_contract(deps, reader, contract_id, after)),
            streams=request.app.state.open_streams,
            lifetime_s=deps.followers.bounds.lifetime_of(reader, deps.clock.now(), deps.ids.jitter()),
        )

    return router


async def _frames(batches: AsyncIterator[list[Any]]) -> AsyncIterator[bytes]:
    yield format_sse_event(retry=RETRY_MS, comment="following")
    async for batch in batches:
        for event in batch:
            yield format_sse_event(data_str=json.dumps(event), event=event["type"], id=str(event["seq"]))
        if not batch:
            yield format_sse_event(comment="still here")

"""Route that streams the events of a contract."""

import json
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Request, Response
from fastapi.sse import format_sse_event

from aex_runtime.http.auth import Allow, Principal
from aex_runtime.http.routing import service_router
from aex_runtime.http.streaming import MEDIA_TYPE, EventStream
from aex_verification.deps import Deps
from aex_verification.handlers.follow_contract import MAX_DIGITS, find_stream_start_seq, stream_contract_events

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
_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The events, as server-sent events: `id` is the `seq`, `event` the `type`, `data` the event",
        "content": {MEDIA_TYPE: {"schema": _EVENT, "example": _EXAMPLE}},
    },
    204: {"description": "The contract is over, and its last event was read: nothing will follow"},
}


def event_routes(deps: Deps) -> APIRouter:
    """Return a router with the route `/contracts/{contract_id}/events`."""
    router = service_router("/v1", tags=["contracts"])

    async def stream_slot(reader: Parties) -> AsyncIterator[None]:
        # Released once the response has been sent to its end, or its reader has disconnected.
        with deps.subscribers.count_stream(reader):
            yield

    @router.get(
        "/contracts/{contract_id}/events",
        status_code=200,
        summary="Follow a contract",
        response_class=EventStream,
        responses=_RESPONSES,
        dependencies=[Depends(stream_slot)],
    )
    async def follow(
        contract_id: str, reader: Parties, request: Request, last_event_id: LastEventId = None
    ) -> Response:
        """Stream the contract's events from the first, or from the one after `Last-Event-ID`, on any instance.

        The stream ends after the contract's last event. It also ends after some minutes and with the token: reconnect
        with the last id that was read. Comments keep an idle stream open.
        """
        after = await find_stream_start_seq(deps, reader, contract_id, last_event_id)
        if after is None:
            return Response(status_code=204)
        return EventStream(
            _frames(stream_contract_events(deps, reader, contract_id, after)),
            streams=request.app.state.open_streams,
            lifetime_s=deps.subscribers.bounds.compute_lifetime_s(reader, deps.clock.now(), deps.ids.jitter()),
        )

    return router


async def _frames(batches: AsyncIterator[list[Any]]) -> AsyncIterator[bytes]:
    yield format_sse_event(retry=RETRY_MS, comment="following")
    async for batch in batches:
        for event in batch:
            yield format_sse_event(data_str=json.dumps(event), event=event["type"], id=str(event["seq"]))
        if not batch:
            yield format_sse_event(comment="still here")

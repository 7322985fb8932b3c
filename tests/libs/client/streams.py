import json
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from tests.libs.client.platform import stream

BEGIN = ": following\nretry: 400\n\n"
BEAT = ": still here\n\n"


@dataclass(frozen=True, slots=True)
class Connection:
    frames: tuple[str, ...] = ()
    broken: bool = False
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    media_type: str = "text/event-stream"


@dataclass(slots=True)
class Streams:
    """The connections still to come, and what was asked so far."""

    script: list[Connection]
    requested: list[dict[str, str]] = field(default_factory=list)

    @property
    def last_ids(self) -> list[str | None]:
        """The `Last-Event-ID` of each request."""
        return [headers.get("last-event-id") for headers in self.requested]

    async def events(self, request: Request) -> Response:
        self.requested.append(dict(request.headers))
        connection = self.script.pop(0)
        if connection.status != 200:
            body = b"" if connection.status == 204 else json.dumps({"code": "as_told", "detail": "as told"}).encode()
            return Response(body, connection.status, connection.headers)
        return StreamingResponse(stream(connection.frames, cut=connection.broken), media_type=connection.media_type)

    def app(self) -> Starlette:
        """The application."""
        return Starlette(routes=[Route("/v1/contracts/ctr_1/events", self.events)])


def event(seq: int, kind: str = "verification_rejected", **more: Any) -> str:
    """A frame as the service writes it."""
    data = {
        "contract_id": "ctr_1",
        "seq": seq,
        "type": kind,
        "attempts_used": seq,
        "max_attempts": 3,
        "occurred_at": "2026-01-01T00:00:00Z",
        "a_field_of_next_year": True,
        **more,
    }
    return f"event: {kind}\ndata: {json.dumps(data)}\nid: {seq}\n\n"

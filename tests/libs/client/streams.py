"""Scripted answers of a service: problems, files and streams, whole or aborted."""

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
    """Answer of parts, aborted after them where `broken`; from status 300 on a problem."""

    parts: tuple[str | bytes, ...] = ()
    broken: bool = False
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    media_type: str = "text/event-stream"


@dataclass(slots=True)
class Script:
    """The answers still to come, whatever is asked, and what was asked so far."""

    answers: list[Connection]
    requested: list[dict[str, str]] = field(default_factory=list)
    """The headers and query parameters of each request."""
    bodies: list[bytes] = field(default_factory=list)

    @property
    def last_ids(self) -> list[str | None]:
        """The `Last-Event-ID` of each request."""
        return [headers.get("last-event-id") for headers in self.requested]

    async def answer(self, request: Request) -> Response:
        self.requested.append(dict(request.headers) | dict(request.query_params))
        self.bodies.append(await request.body())
        answer = self.answers.pop(0)
        if answer.status >= 300:
            problem = json.dumps({"code": "as_told", "detail": "as told"})
            return Response(problem, answer.status, answer.headers, "application/problem+json")
        if answer.status == 204:
            return Response(status_code=204)
        return StreamingResponse(stream(answer.parts, cut=answer.broken), answer.status, media_type=answer.media_type)

    def app(self) -> Starlette:
        """The application."""
        return Starlette(routes=[Route("/{path:path}", self.answer, methods=["GET", "PUT", "POST"])])


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

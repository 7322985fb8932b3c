"""What surrounds every request: its id, its log context, its access line, its metrics, and the last net.

An answer that streams events is logged and measured when it begins, and its end is told by a line of its own.
"""

import re
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager

import structlog
from fastapi import Request
from opentelemetry.trace import TracerProvider
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from aex_runtime.http.event_stream import MEDIA_TYPE as EVENT_STREAM
from aex_runtime.http.metrics import Metrics
from aex_runtime.http.problems import internal_error
from aex_runtime.ids import Ids
from aex_runtime.redaction import describe
from aex_runtime.telemetry import continue_trace, names_trace, request_trace

_SANE_ID = re.compile(rb"[A-Za-z0-9._:-]{1,128}")
QUIET = frozenset({"/healthz", "/readyz", "/metrics"})
"""Asked every few seconds: counted, but not logged."""
SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)
_TRACE_HEADERS = (b"traceparent", b"tracestate")
_CLIENT_GONE = 499
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_log = structlog.get_logger(__name__)


class Envelope:
    """ASGI middleware; outermost of ours, so that it sees every answer."""

    def __init__(
        self,
        app: ASGIApp,
        ids: Ids,
        metrics: Metrics,
        templates: Mapping[object, str],
        tracers: TracerProvider | None = None,
        joins: bool = True,
    ) -> None:
        """`templates`: the route's template for each endpoint.

        `tracers` record the request's steps; the span of the request itself is FastAPI's then. `joins`: whether what a
        caller asks for belongs to the trace that the request came with.
        """
        self._app = app
        self._ids = ids
        self._metrics = metrics
        self._templates = templates
        self._tracers = tracers
        self._joins = joins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = _given_id(scope) or self._ids.new("req")
        scope.setdefault("state", {})["request_id"] = request_id
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=request_id)
        with self._caller_trace(scope):
            await self._answer(scope, receive, _Answer(send, request_id))

    def _caller_trace(self, scope: Scope) -> AbstractContextManager[object]:
        sent = {name: value for name, value in scope["headers"] if name in _TRACE_HEADERS}
        parent, state = (sent.get(name, b"").decode("latin-1") or None for name in _TRACE_HEADERS)
        if self._tracers is None:
            return continue_trace(parent, state, "request", joins=self._joins)
        return request_trace(self._tracers, given=self._joins and names_trace(parent))

    async def _answer(self, scope: Scope, receive: Receive, answer: "_Answer") -> None:
        started = time.perf_counter()

        async def send(message: Message) -> None:
            await answer.send(message)
            if message["type"] == "http.response.start" and answer.streams:
                # Known to be answered now; how long its reader stays says nothing about the service.
                self._record(scope, answer.status, time.perf_counter() - started)

        try:
            await self._app(scope, receive, send)
        except ClientDisconnect:
            answer.status = _CLIENT_GONE
        except Exception as error:
            _log.error("unexpected_error", method=scope["method"], route=self._route(scope), traceback=describe(error))
            if answer.started:  # too late for another answer: the server cuts the connection
                raise
            await internal_error(Request(scope))(scope, receive, answer.send)
        finally:
            seconds = time.perf_counter() - started
            if answer.streams:
                _log.info("stream_ended", route=self._route(scope), duration_ms=round(seconds * 1_000, 2))
            else:
                self._record(scope, answer.status, seconds)

    def _record(self, scope: Scope, status: int, seconds: float) -> None:
        route = self._route(scope)
        method = scope["method"] if scope["method"] in _METHODS else "OTHER"
        self._metrics.answered(method, route, status, seconds)
        if scope["path"] not in QUIET:
            _log.info("request", method=method, route=route, status=status, duration_ms=round(seconds * 1_000, 2))

    def _route(self, scope: Scope) -> str:
        """The route's template: never the path, which anybody can make up."""
        endpoint: object = scope.get("endpoint")
        return self._templates.get(endpoint, "unmatched")


class _Answer:
    """Watches the answer on its way out and adds what every answer carries."""

    def __init__(self, send: Send, request_id: str) -> None:
        self._send = send
        self._request_id = request_id.encode()
        self.started = False
        self.streams = False
        self.status = 500

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            self.status = message["status"]
            given = list(message.get("headers", []))
            names = {name.lower() for name, _ in given}
            self.streams = any(
                name.lower() == b"content-type" and value.startswith(EVENT_STREAM.encode()) for name, value in given
            )
            added = [(name, value) for name, value in SECURITY_HEADERS if name not in names]
            message = {**message, "headers": [*given, *added, (b"x-request-id", self._request_id)]}
        await self._send(message)


def _given_id(scope: Scope) -> str | None:
    found = [value for name, value in scope["headers"] if name == b"x-request-id"]
    return found[0].decode() if len(found) == 1 and _SANE_ID.fullmatch(found[0]) else None

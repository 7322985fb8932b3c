"""Middleware of every request: its id, log context, trace, access log, metrics and headers.

An event stream is logged and measured when it begins. The log event `stream_ended` follows at its end.
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

from aex_runtime.http.metrics import REQUEST_SECONDS, REQUESTS, Metrics
from aex_runtime.http.problems import INTERNAL_ERROR, problem_response
from aex_runtime.http.streaming import MEDIA_TYPE as EVENT_STREAM
from aex_runtime.ids import Ids
from aex_runtime.logs import exception_chain
from aex_runtime.telemetry import continue_trace, is_valid_traceparent, record_steps

_REQUEST_ID = re.compile(rb"[A-Za-z0-9._:-]{1,128}")
UNLOGGED_PATHS = frozenset({"/healthz", "/readyz", "/metrics"})
"""Paths that are polled every few seconds. Their requests are counted, but not logged."""
SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
)
_TRACE_HEADERS = (b"traceparent", b"tracestate")
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_log = structlog.get_logger(__name__)


class RequestMiddleware:
    """ASGI middleware around the application, which sees every request and every response."""

    def __init__(
        self,
        app: ASGIApp,
        ids: Ids,
        metrics: Metrics,
        templates: Mapping[object, str],
        tracers: TracerProvider | None = None,
        joins_traces: bool = True,
    ) -> None:
        """`templates`: route template by endpoint. `joins_traces`: requests join their caller's trace.

        With `tracers` FastAPI records the span of the request.
        """
        self._app, self._ids, self._metrics, self._templates = app, ids, metrics, templates
        self._tracers, self._joins_traces = tracers, joins_traces

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        sent = [value for name, value in scope["headers"] if name == b"x-request-id"]
        is_usable = len(sent) == 1 and _REQUEST_ID.fullmatch(sent[0])
        request_id = sent[0].decode() if is_usable else self._ids.new("req")
        scope.setdefault("state", {})["request_id"] = request_id
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=request_id)
        with self._request_trace(scope):
            await self._handle(scope, receive, _Response(send, request_id))

    def _request_trace(self, scope: Scope) -> AbstractContextManager[object]:
        sent = {name: value for name, value in scope["headers"] if name in _TRACE_HEADERS}
        parent, state = (sent.get(name, b"").decode("latin-1") or None for name in _TRACE_HEADERS)
        if self._tracers is None:
            return continue_trace(parent, state, "request", work_belongs_to_trace=self._joins_traces)
        return record_steps(self._tracers, caller_named_trace=self._joins_traces and is_valid_traceparent(parent))

    async def _handle(self, scope: Scope, receive: Receive, response: "_Response") -> None:
        started = time.perf_counter()

        async def send(message: Message) -> None:
            await response.send(message)
            if message["type"] == "http.response.start" and response.is_event_stream:
                # Recorded now: how long the reader stays says nothing about the service.
                self._record(scope, response.status, time.perf_counter() - started)

        try:
            await self._app(scope, receive, send)
        except ClientDisconnect:
            response.status = 499  # the convention of nginx for a client that left
        except Exception as error:
            route, chain = self._route(scope), exception_chain(error)
            _log.error("unexpected_error", method=scope["method"], route=route, traceback=chain)
            if response.started:  # too late for another response: the server cuts the connection
                raise
            problem = problem_response(Request(scope), 500, "internal_error", INTERNAL_ERROR)
            await problem(scope, receive, response.send)
        finally:
            seconds = time.perf_counter() - started
            if response.is_event_stream:
                _log.info("stream_ended", route=self._route(scope), duration_ms=round(seconds * 1_000, 2))
            else:
                self._record(scope, response.status, seconds)

    def _record(self, scope: Scope, status: int, seconds: float) -> None:
        route = self._route(scope)
        method = scope["method"] if scope["method"] in _METHODS else "OTHER"
        self._metrics.count(REQUESTS, method, route, str(status))
        self._metrics.observe(REQUEST_SECONDS, seconds, method, route)
        if scope["path"] not in UNLOGGED_PATHS:
            _log.info("request", method=method, route=route, status=status, duration_ms=round(seconds * 1_000, 2))

    def _route(self, scope: Scope) -> str:
        """Return the template of the route; not the path, which callers choose freely."""
        return self._templates.get(scope.get("endpoint"), "unmatched")


class _Response:
    """The response on its way to the client, to which headers of every response are added."""

    def __init__(self, send: Send, request_id: str) -> None:
        self._send, self._request_id = send, request_id.encode()
        self.started = self.is_event_stream = False
        self.status = 500

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.started = True
            self.status = message["status"]
            headers = list(message.get("headers", []))
            values = {name.lower(): value for name, value in headers}
            self.is_event_stream = values.get(b"content-type", b"").startswith(EVENT_STREAM.encode())
            added = [(name, value) for name, value in SECURITY_HEADERS if name not in values]
            message = {**message, "headers": [*headers, *added, (b"x-request-id", self._request_id)]}
        await self._send(message)

"""HTTP connections with limits: their number, request heads, pipelined requests, unread responses."""

import asyncio
import json
import resource
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, NoReturn, cast

import structlog
from starlette.requests import ClientDisconnect
from starlette.types import Scope
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

_EXTENSION = "aex.abort"
"""Key of the function that aborts the connection.

Closing would first send what is buffered, which a slow reader can delay without limit.
"""
_RESERVED_FILES = 200
"""Files that a process may open besides connections: for its store, queues, workers and calls."""
_HEADERS = b"Content-Type: application/problem+json\r\nConnection: close\r\nCache-Control: no-store\r\n"
_log = structlog.get_logger(__name__)


class _TooManyPipelined(Exception):
    """A connection that sends too many requests without waiting for their responses."""


@dataclass(frozen=True, slots=True)
class ConnectionBounds:
    """Limits of a server's connections."""

    max_connections: int = 1_000
    head_bytes: int = 65_536
    head_s: float = 30.0
    """Time to send the head of a request; clients use a new connection sooner."""
    unread_s: float = 30.0
    """Interval in which a reader must take at least `unread_bytes` of its response."""
    unread_bytes: int = 262_144
    max_pipelined: int = 100
    """Requests of one connection that may wait for the responses to earlier ones."""


def connection_bounds_within_file_limit(max_connections: int) -> ConnectionBounds:
    """Return bounds with this many connections, or fewer if the process may open fewer files.

    A lowered number is logged.
    """
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        return ConnectionBounds(max_connections=max_connections)
    allowed = min(max_connections, max(files - _RESERVED_FILES, files // 2))
    if allowed < max_connections:
        _log.warning("connection_limit_lowered", requested=max_connections, allowed=allowed, files=files)
    return ConnectionBounds(max_connections=allowed)


class AbortableProtocol(HttpToolsProtocol):
    """Uvicorn's protocol over httptools, with limits; the application can abort the connection.

    Further connections are refused with 503, long heads with 431, malformed requests with 400. A slow head closes the
    connection, and a slow reader aborts it. While pipelined requests wait, no more are read.
    """

    bounds = ConnectionBounds()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._unparsed_bytes = 0
        self._head_timer: asyncio.TimerHandle | None = None
        self._reader_timer: asyncio.TimerHandle | None = None
        self._current_cycle: RequestResponseCycle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        super().connection_made(transport)
        if len(self.connections) > self.bounds.max_connections:
            limit = f"this instance already serves its maximum of {self.bounds.max_connections} connections"
            self._refuse(503, "too_many_connections", f"{limit}; retry after 1 s", b"Retry-After: 1\r\n")
        else:
            self._start_head_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_head_timer()
        self.resume_writing()
        super().connection_lost(exc)
        self.pipeline.clear()
        if self._current_cycle is not None:  # uvicorn notifies only the latest request
            self._current_cycle.disconnected = True
            self._current_cycle.message_event.set()

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        self._unparsed_bytes += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._unparsed_bytes > self.bounds.head_bytes:
            limit = f"at most {self.bounds.head_bytes} bytes"
            self._refuse(431, "headers_too_large", f"the address and the headers of a request have {limit}")
        elif self.timeout_keep_alive_task is None and getattr(self.cycle, "response_complete", True):
            self._start_head_timer()

    def on_message_begin(self) -> None:
        if len(self.pipeline) >= self.bounds.max_pipelined:
            raise _TooManyPipelined
        super().on_message_begin()
        extensions = cast(Scope, self.scope).setdefault("extensions", {})
        extensions[_EXTENSION] = self.transport.abort
        self._start_head_timer()

    def on_headers_complete(self) -> None:
        self._unparsed_bytes = 0
        self._stop_head_timer()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._unparsed_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._unparsed_bytes = 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.pipeline:  # uvicorn would read on after each response, and collect faster than it responds
            self.flow.pause_reading()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 the signature is uvicorn's
        self._refuse(400, "malformed_request", "this is no HTTP request, or its address is malformed or too long")

    def pause_writing(self) -> None:
        super().pause_writing()
        self._start_reader_timer()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._reader_timer is not None:
            self._reader_timer.cancel()
            self._reader_timer = None

    def timeout_keep_alive_handler(self) -> None:
        if self.transport.get_write_buffer_size():  # the last response is still unread
            self.transport.abort()
        super().timeout_keep_alive_handler()

    def _start_head_timer(self) -> None:
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(self.bounds.head_s, self.timeout_keep_alive_handler)

    def _stop_head_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _start_reader_timer(self) -> None:
        buffered = self.transport.get_write_buffer_size()
        self._reader_timer = self.loop.call_later(self.bounds.unread_s, self._check_reader, buffered)

    def _check_reader(self, buffered_before: int) -> None:
        """Abort the connection unless its reader has taken enough since the timer was started."""
        if buffered_before - self.transport.get_write_buffer_size() >= self.bounds.unread_bytes:
            self._start_reader_timer()
            return
        _log.warning("slow_reader_disconnected", held_bytes=buffered_before, unread_s=self.bounds.unread_s)
        self._reader_timer = None
        self.transport.abort()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._current_cycle = cycle
        super()._start_asgi_task(cycle, app)

    def _refuse(self, status: int, code: str, detail: str, headers: bytes = b"") -> None:
        """Send a problem document and close the connection."""
        if self._current_cycle is None or self._current_cycle.response_complete:  # else it would be in that response
            title = HTTPStatus(status).phrase
            problem = {"type": f"urn:aex:problem:{code}", "title": title, "status": status, "detail": detail}
            content = json.dumps({**problem, "code": code, "errors": [], "request_id": ""}).encode()
            length = b"Content-Length: %d\r\n\r\n" % len(content)
            self.transport.write(f"HTTP/1.1 {status} {title}\r\n".encode() + _HEADERS + headers + length + content)
        self.transport.close()


def create_protocol_class(bounds: ConnectionBounds) -> type[AbortableProtocol]:
    """Return a protocol class with these bounds, because uvicorn passes no arguments to it."""

    class BoundedProtocol(AbortableProtocol):
        pass

    BoundedProtocol.bounds = bounds
    return BoundedProtocol


def disconnect_and_raise(scope: Scope) -> NoReturn:
    """Abort the connection of a request, if the server supports that, and raise `ClientDisconnect`."""
    abort: Callable[[], None] | None = scope.get("extensions", {}).get(_EXTENSION)
    if abort is not None:
        abort()
    raise ClientDisconnect from None

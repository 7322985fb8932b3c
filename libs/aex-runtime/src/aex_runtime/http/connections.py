"""The server's connections: bounded in number, in what they may send before they are heard, and in how long they may
take for it; with a way to end one at once.

A server that closes a connection first sends what it still holds for the reader: for one that hardly reads that takes
as long as it likes.
"""

import asyncio
import resource
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import structlog
from starlette.types import Scope
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

_EXTENSION = "aex.abort"
_FILES_KEPT = 200
"""Of those that a process may open: for its store, its queues, its workers, and what it connects to."""
_HEADERS = b"Content-Type: application/problem+json\r\nConnection: close\r\nCache-Control: no-store\r\n"
_FULL = (
    b'{"type":"urn:aex:problem:too_many_connections","title":"Service Unavailable","status":503,'
    b'"detail":"this instance has as many connections as it takes","code":"too_many_connections","errors":[],'
    b'"request_id":""}'
)
_TOO_LONG = (
    b'{"type":"urn:aex:problem:headers_too_large","title":"Request Header Fields Too Large","status":431,'
    b'"detail":"the address and the headers of a request are too long","code":"headers_too_large","errors":[],'
    b'"request_id":""}'
)
_MALFORMED = (
    b'{"type":"urn:aex:problem:malformed_request","title":"Bad Request","status":400,'
    b'"detail":"this is no HTTP request, or its address is malformed or too long","code":"malformed_request",'
    b'"errors":[],"request_id":""}'
)
_log = structlog.get_logger(__name__)


class _TooManyAhead(Exception):
    """Requests sent ahead of their answers, more than are kept."""


@dataclass(frozen=True, slots=True)
class ConnectionBounds:
    """`most`: connections at once. `head_bytes`, `head_s`: of a request up to its body; longer than clients leave a new
    connection unused. `unread_s`: how often it is looked whether a reader takes its answer, at least `unread_bytes`
    each time. `ahead`: requests that may wait for the answers to those before them on the same connection."""

    most: int = 1_000
    head_bytes: int = 65_536
    head_s: float = 30.0
    unread_s: float = 30.0
    unread_bytes: int = 262_144
    ahead: int = 100


def bounds_for(most: int) -> ConnectionBounds:
    """With as many connections as asked for, or as this process may open files for."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = most if files == resource.RLIM_INFINITY else min(most, max(files - _FILES_KEPT, files // 2))
    if allowed < most:
        _log.warning("fewer_connections", asked=most, allowed=allowed, files=files)
    return ConnectionBounds(most=allowed)


class AbortableProtocol(HttpToolsProtocol):
    """Uvicorn's protocol over httptools, within `bounds`; tells the application how to abort the connection.

    One connection more than there may be is answered with a 503 and closed; a head that is too long with a 431, what
    is no request with a 400. What takes too long is closed, or aborted where its reader takes nothing. Who sends
    requests ahead of their answers is read from again once all of them have begun; one with too many is closed.
    """

    bounds = ConnectionBounds()

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        self._unheard = 0
        self._head_due: asyncio.TimerHandle | None = None
        self._reader_due: asyncio.TimerHandle | None = None
        self._answered: RequestResponseCycle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn's own
        super().connection_made(transport)
        if len(self.connections) > self.bounds.most:
            self._turn_away(b"503 Service Unavailable", _FULL, b"Retry-After: 1\r\n")
        else:
            self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._forget_head()
        self.resume_writing()
        super().connection_lost(exc)
        self.pipeline.clear()
        if self._answered is not None:  # uvicorn tells the request that came last alone
            self._answered.disconnected = True
            self._answered.message_event.set()

    def data_received(self, data: bytes) -> None:
        if self.transport.is_closing():
            return
        self._unheard += len(data)
        super().data_received(data)
        if self.transport.is_closing():
            return
        if self._unheard > self.bounds.head_bytes:
            self._turn_away(b"431 Request Header Fields Too Large", _TOO_LONG)
        elif self.timeout_keep_alive_task is None and getattr(self.cycle, "response_complete", True):
            self._await_head()

    def on_message_begin(self) -> None:
        if len(self.pipeline) >= self.bounds.ahead:
            raise _TooManyAhead
        super().on_message_begin()
        extensions = cast(Scope, self.scope).setdefault("extensions", {})
        extensions[_EXTENSION] = self.transport.abort
        self._await_head()

    def on_headers_complete(self) -> None:
        self._unheard = 0
        self._forget_head()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self._unheard = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._unheard = 0
        super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.pipeline:  # uvicorn would read on after each answer, and gather faster than it answers
            self.flow.pause_reading()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002 the signature is uvicorn's
        self._turn_away(b"400 Bad Request", _MALFORMED)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_reader()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._reader_due is not None:
            self._reader_due.cancel()
            self._reader_due = None

    def timeout_keep_alive_handler(self) -> None:
        if self.transport.get_write_buffer_size():  # the last answer is still not read
            self.transport.abort()
        super().timeout_keep_alive_handler()

    def _await_head(self) -> None:
        if self._head_due is None:
            self._head_due = self.loop.call_later(self.bounds.head_s, self.timeout_keep_alive_handler)

    def _forget_head(self) -> None:
        if self._head_due is not None:
            self._head_due.cancel()
            self._head_due = None

    def _watch_reader(self) -> None:
        """Look again in a while whether what is held for the reader has become less; nothing is added until then."""
        held = self.transport.get_write_buffer_size()
        self._reader_due = self.loop.call_later(self.bounds.unread_s, self._look_at_reader, held)

    def _look_at_reader(self, held_before: int) -> None:
        if held_before - self.transport.get_write_buffer_size() >= self.bounds.unread_bytes:
            self._watch_reader()
            return
        _log.warning("slow_reader_let_go", held_bytes=held_before, unread_s=self.bounds.unread_s)
        self._reader_due = None
        self.transport.abort()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._answered = cycle
        super()._start_asgi_task(cycle, app)

    def _turn_away(self, status: bytes, problem: bytes, further: bytes = b"") -> None:
        if self._answered is None or self._answered.response_complete:  # else it would end up inside that answer
            length = b"Content-Length: %d\r\n\r\n" % len(problem)
            self.transport.write(b"HTTP/1.1 " + status + b"\r\n" + _HEADERS + further + length + problem)
        self.transport.close()


def protocol_within(bounds: ConnectionBounds) -> type[AbortableProtocol]:
    """The protocol with these bounds: uvicorn makes one for each connection, and passes nothing on."""

    class BoundedProtocol(AbortableProtocol):
        pass

    BoundedProtocol.bounds = bounds
    return BoundedProtocol


def abort_of(scope: Scope) -> Callable[[], None] | None:
    """What ends the connection of this request at once, whatever is still to be sent; None where a server has none."""
    abort: Callable[[], None] | None = scope.get("extensions", {}).get(_EXTENSION)
    return abort

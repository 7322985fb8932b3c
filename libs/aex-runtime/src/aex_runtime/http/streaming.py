"""Streamed responses: downloads of files, and server-sent events."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import aclosing, contextmanager
from dataclasses import asdict, dataclass

import structlog
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from aex_runtime.http.connections import disconnect_and_raise

MEDIA_TYPE = "text/event-stream"
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
"""Headers that keep proxies such as nginx from storing and buffering events."""
_END_S = 0.5
"""Seconds that a reader has to take the end of a stream."""
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class TransferRate:
    """The lowest rate that a peer must keep.

    A peer may keep this side waiting for `grace_s` seconds. Each byte that it transfers restores `1 / min_bytes_per_s`
    seconds of this grace.
    """

    grace_s: float = 60.0
    min_bytes_per_s: float = 32_768

    def remaining_grace_s(self, grace_s: float, waited_s: float, size: int) -> float:
        """Return the seconds of grace left after `waited_s` seconds for a chunk of `size` bytes."""
        return min(grace_s - waited_s + size / self.min_bytes_per_s, self.grace_s)


_MIN_RATE = TransferRate()


class _AbortableResponse(StreamingResponse):
    """A streamed response that remembers its ASGI scope, so that it can abort its connection."""

    scope: Scope = {}  # as in a response that was not sent yet

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scope = scope
        await super().__call__(scope, receive, send)


class Download(_AbortableResponse):
    """A file as a response, sent chunk by chunk, each after the reader has taken the one before.

    The first chunk is produced before anything is sent, so that its errors become problem documents. A later error cuts
    the connection, so that the reader sees that the file is incomplete. If the reader leaves, or is slower than
    `min_rate`, `chunks` is closed and the connection aborted.
    """

    def __init__(
        self,
        chunks: AsyncGenerator[bytes, None],
        *,
        media_type: str,
        filename: str | None = None,
        min_rate: TransferRate = _MIN_RATE,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Create a download; `filename` has letters, digits, dots and hyphens, `headers` are added.

        Without `filename` it is an answer to read at once, not a file to save.
        """
        disposition = {} if filename is None else {"Content-Disposition": f'attachment; filename="{filename}"'}
        always = {"Content-Type": media_type, "X-Accel-Buffering": "no"}
        super().__init__(chunks, headers={**always, **disposition, **(headers or {})})
        self._chunks, self._min_rate, self._grace_s = chunks, min_rate, min_rate.grace_s

    async def stream_response(self, send: Send) -> None:
        async with aclosing(self._chunks) as chunks:
            chunk = await anext(chunks, None)
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            while chunk is not None:
                await self._send_chunk(send, chunk)
                await asyncio.sleep(0)  # lets the server report a reader that left; until then it takes everything
                chunk = await anext(chunks, None)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _send_chunk(self, send: Send, chunk: bytes) -> None:
        """Send a chunk, and count the time that the reader takes for it; disconnect a slow reader."""
        clock = asyncio.get_running_loop().time
        started, timeout = clock(), asyncio.timeout(self._grace_s)
        try:
            async with timeout:
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
        except TimeoutError:
            if not timeout.expired():
                raise
            _log.warning("slow_reader_disconnected", **asdict(self._min_rate))
            disconnect_and_raise(self.scope)
        self._grace_s = self._min_rate.remaining_grace_s(self._grace_s, clock() - started, len(chunk))


class OpenStreams:
    """The event streams of one application that are open now, so that a stop can end them."""

    def __init__(self) -> None:
        self._timeouts: set[asyncio.Timeout] = set()
        self._ended = False

    def __len__(self) -> int:
        return len(self._timeouts)

    def end_all_and_refuse_new(self) -> None:
        """End all open streams, and every later one at its start. Call it on the event loop."""
        self._ended = True
        for timeout in self._timeouts:
            _expire(timeout)

    @contextmanager
    def track(self, lifetime: asyncio.Timeout) -> Iterator[None]:
        """Count a stream as open during the block; `end_all_and_refuse_new` makes its `lifetime` expire."""
        self._timeouts.add(lifetime)
        if self._ended:
            _expire(lifetime)
        try:
            yield
        finally:
            self._timeouts.discard(lifetime)


class EventStream(_AbortableResponse):
    """Server-sent events as a response, until the frames end, `lifetime_s` is over, or `streams` end.

    Each of these completes the response, so that the reader can tell it from a broken connection. A reader that has
    stopped reading is then disconnected. A frame is produced after the reader has taken those before.
    """

    media_type = MEDIA_TYPE

    def __init__(self, frames: AsyncIterator[bytes], *, streams: OpenStreams, lifetime_s: float) -> None:
        super().__init__(frames, headers=_HEADERS)
        self._streams, self._lifetime_s = streams, lifetime_s

    async def stream_response(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        lifetime = asyncio.timeout(self._lifetime_s)
        try:
            async with lifetime:
                with self._streams.track(lifetime):
                    async for frame in self.body_iterator:
                        await send({"type": "http.response.body", "body": frame, "more_body": True})
        except TimeoutError:
            if not lifetime.expired():
                raise
        try:
            async with asyncio.timeout(_END_S):
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        except TimeoutError:  # the reader stopped reading, and would keep what the server still holds for it
            disconnect_and_raise(self.scope)


def _expire(timeout: asyncio.Timeout) -> None:
    if not timeout.expired():
        timeout.reschedule(asyncio.get_running_loop().time())

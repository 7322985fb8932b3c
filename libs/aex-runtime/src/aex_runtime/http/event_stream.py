"""Server-sent events as an answer: sent as they come, for a bounded time, and over at once when the process stops."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import contextmanager

from starlette.requests import ClientDisconnect
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from aex_runtime.http.connections import abort_of

MEDIA_TYPE = "text/event-stream"
_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
"""Nothing on the way keeps events, and nothing (nginx and its like) gathers them before it passes them on."""
_LAST_WORD_S = 0.5


class OpenStreams:
    """The answers of one application that have no end of their own."""

    def __init__(self) -> None:
        self._lives: set[asyncio.Timeout] = set()
        self._ended = False

    def __len__(self) -> int:
        return len(self._lives)

    def end(self) -> None:
        """The process stops: all end now, and so does any that begins later. Called on the event loop."""
        self._ended = True
        for life in self._lives:
            _end(life)

    @contextmanager
    def joined(self, life: asyncio.Timeout) -> Iterator[None]:
        """One more, until the block ends; `life` is the time that it has, and is cut short by `end`."""
        self._lives.add(life)
        if self._ended:
            _end(life)
        try:
            yield
        finally:
            self._lives.discard(life)


class EventStream(StreamingResponse):
    """Frames in the format of server-sent events, until they end, `lifetime_s` is over, or `streams` are ended.

    Each of these ends the answer properly, so that the reader can tell it from a connection that broke. A reader that
    takes nothing more, and one that has vanished, are let go by then at the latest, and their connections cut where the
    server gives a way (`http/connections.py`). A frame is made once the reader has taken those before it.
    """

    media_type = MEDIA_TYPE

    def __init__(
        self,
        frames: AsyncIterator[bytes],
        *,
        streams: OpenStreams,
        lifetime_s: float,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(frames, headers={**_HEADERS, **(headers or {})})
        self._streams, self._lifetime_s = streams, lifetime_s
        self._scope: Scope = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._scope = scope
        await super().__call__(scope, receive, send)

    async def stream_response(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        life = asyncio.timeout(self._lifetime_s)
        try:
            async with life:
                with self._streams.joined(life):
                    async for frame in self.body_iterator:
                        await send({"type": "http.response.body", "body": frame, "more_body": True})
        except TimeoutError:
            if not life.expired():
                raise
        try:
            async with asyncio.timeout(_LAST_WORD_S):
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        except TimeoutError:  # it has stopped reading, and would keep what the server still holds for it
            abort = abort_of(self._scope)
            if abort is not None:
                abort()
            raise ClientDisconnect from None


def _end(life: asyncio.Timeout) -> None:
    if not life.expired():
        life.reschedule(asyncio.get_running_loop().time())

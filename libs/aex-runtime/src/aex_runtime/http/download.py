"""A long answer as a file: sent as it is made, in constant memory, and never taken for complete where it is not.

Its first piece is made before anything is sent, so that what is wrong with the request is answered as a problem.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass

import structlog
from starlette.requests import ClientDisconnect
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from aex_runtime.http.connections import abort_of

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Pace:
    """How slow a reader may be before it is let go, since it holds a place."""

    patience_s: float = 60.0
    """How long it may take nothing. What it is slower than `least_bytes_s` is taken off, what it is faster put back."""
    least_bytes_s: float = 32_768
    """What it takes at least on average, over the time that it is waited for."""


_PACE = Pace()


class Download(StreamingResponse):
    """The pieces, one after the other, each once the reader has taken the one before.

    Where making a piece fails, the connection is cut without the end that tells that the answer is whole. Where the
    reader is gone or slower than `pace`, `pieces` are closed at once, and so is its connection where the server gives
    a way (`http/connections.py`); other servers keep it until the reader has taken what they hold for it: a piece.
    """

    def __init__(
        self,
        pieces: AsyncGenerator[bytes, None],
        *,
        filename: str,
        media_type: str,
        pace: Pace = _PACE,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """`filename`: letters, digits, dots and hyphens. `headers`: further ones, such as a `Content-Length`."""
        told = {
            "Content-Type": media_type,
            "Content-Disposition": f'attachment; filename="{filename}"',
            "X-Accel-Buffering": "no",
            **(headers or {}),
        }
        super().__init__(pieces, headers=told)
        self._pieces, self._pace, self._patience_s = pieces, pace, pace.patience_s
        self._scope: Scope = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._scope = scope
        await super().__call__(scope, receive, send)

    async def stream_response(self, send: Send) -> None:
        async with aclosing(self._pieces) as pieces:
            piece = await anext(pieces, None)
            await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
            while piece is not None:
                await self._sent(send, piece)
                await asyncio.sleep(0)  # a server takes everything at once for a reader that is gone: let it say so
                piece = await anext(pieces, None)
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _sent(self, send: Send, piece: bytes) -> None:
        """Only time in which the reader is waited for counts: what the making takes is not its fault."""
        clock = asyncio.get_running_loop().time
        began, slow = clock(), asyncio.timeout(self._patience_s)
        try:
            async with slow:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        except TimeoutError:
            if not slow.expired():
                raise
            self._let_go()
        earned_s = len(piece) / self._pace.least_bytes_s
        self._patience_s = min(self._patience_s - (clock() - began) + earned_s, self._pace.patience_s)

    def _let_go(self) -> None:
        _log.warning("slow_reader_let_go", patience_s=self._pace.patience_s, least_bytes_s=self._pace.least_bytes_s)
        abort = abort_of(self._scope)
        if abort is not None:
            abort()
        raise ClientDisconnect from None

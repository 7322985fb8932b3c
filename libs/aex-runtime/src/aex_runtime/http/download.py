"""A long answer as a file: sent as it is made, in constant memory, and never taken for complete where it is not.

Its first piece is made before anything is sent, so that what is wrong with the request is answered as a problem.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing

from starlette.requests import ClientDisconnect
from starlette.responses import StreamingResponse
from starlette.types import Send

STALL_S = 60.0
"""How long a reader may take nothing before it is let go: it holds a place."""


class Download(StreamingResponse):
    """The pieces, one after the other, each once the reader has taken the one before.

    Where making a piece fails, the connection is cut without the end that tells that the answer is whole. Where the
    reader is gone or stalls, `pieces` are closed at once.
    """

    def __init__(
        self,
        pieces: AsyncGenerator[bytes, None],
        *,
        filename: str,
        media_type: str,
        stall_s: float = STALL_S,
    ) -> None:
        """`filename`: letters, digits, dots and hyphens."""
        headers = {
            "Content-Type": media_type,
            "Content-Disposition": f'attachment; filename="{filename}"',
            "X-Accel-Buffering": "no",
        }
        super().__init__(pieces, headers=headers)
        self._pieces, self._stall_s = pieces, stall_s

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
        stall = asyncio.timeout(self._stall_s)
        try:
            async with stall:
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        except TimeoutError:
            if not stall.expired():
                raise
            raise ClientDisconnect from None  # it has stopped reading

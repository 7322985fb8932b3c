"""The HTTP client that talks to a model's server, which is not trusted to stop talking.

Imported only where a reviewer is configured.
"""

from collections.abc import AsyncIterator

import httpx2

MAX_ANSWER_BYTES = 1_000_000
"""Of one answer: far more than any review."""


class AnswerTooLarge(httpx2.TransportError):
    """A server sent more than any review has, or something compressed that nobody asked for."""


class _Bounded(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        room = MAX_ANSWER_BYTES
        async for chunk in self._stream:
            room -= len(chunk)
            if room < 0:
                raise AnswerTooLarge("too many bytes")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


async def _bound(response: httpx2.Response) -> None:
    if response.headers.get("Content-Encoding", "identity") != "identity":
        raise AnswerTooLarge("compressed")  # a few bytes may unfold to any number of them
    if isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _Bounded(response.stream)


def bounded_client(timeout_s: float) -> httpx2.AsyncClient:
    """A client that follows no redirect (the key is for one server alone) and reads no endless answer."""
    return httpx2.AsyncClient(
        timeout=timeout_s,
        follow_redirects=False,
        headers={"Accept-Encoding": "identity"},
        event_hooks={"response": [_bound]},
    )

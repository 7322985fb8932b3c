"""An HTTP client for calls to other services, which the first call creates."""

import asyncio
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

if TYPE_CHECKING:
    import httpx


class HttpClient(Protocol):
    """The method of `httpx.AsyncClient` that calls to other services need."""

    async def request(
        self, method: str, url: str, *, content: str | None = None, headers: Mapping[str, str] | None = None
    ) -> "httpx.Response":
        """Send a request and return the response, whatever its status. Raises `httpx.HTTPError`."""


class LazyHttpClient:
    """An `HttpClient` that creates its client at the first call, in a thread.

    Loading the certificates takes 60 ms.
    """

    def __init__(self, make: "Callable[[], httpx.AsyncClient]") -> None:
        self._make = make
        self._made: httpx.AsyncClient | None = None
        self._making = asyncio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        if self._made is not None:
            await self._made.aclose()

    async def request(
        self, method: str, url: str, *, content: str | None = None, headers: Mapping[str, str] | None = None
    ) -> "httpx.Response":
        async with self._making:
            if self._made is None:
                self._made = await asyncio.to_thread(self._make)
        return await self._made.request(method, url, content=content, headers=headers)


def create_http_client(timeout_s: float) -> "httpx.AsyncClient":
    """Return a client whose calls have this time-out."""
    import httpx  # noqa: PLC0415 60 ms with the certificates

    return httpx.AsyncClient(timeout=timeout_s)

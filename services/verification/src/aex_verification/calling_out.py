"""How this service asks others: one HTTP client for all calls, made by the first of them."""

import asyncio
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

if TYPE_CHECKING:
    import httpx


class HttpClient(Protocol):
    """What `httpx.AsyncClient` does as well."""

    async def request(
        self, method: str, url: str, *, content: str | None = None, headers: Mapping[str, str] | None = None
    ) -> "httpx.Response":
        """The answer, whatever its status. Raises `httpx.HTTPError`."""
        ...


class LateClient:
    """An `HttpClient` that is made when somebody is asked first, in a thread: what it takes are the certificates.

    A service that starts asks nobody. Left, no connection remains.
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
        """See `HttpClient`."""
        async with self._making:
            if self._made is None:
                self._made = await asyncio.to_thread(self._make)
        return await self._made.request(method, url, content=content, headers=headers)


def client_within(timeout_s: float) -> "httpx.AsyncClient":
    """A client whose calls have this time."""
    import httpx  # noqa: PLC0415 with the certificates 60 ms

    return httpx.AsyncClient(timeout=timeout_s)

"""Where an issuer's public keys come from: given, in a file, or at an https URL."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import structlog

from aex_runtime.clock import Clock
from aex_runtime.errors import TemporarilyUnavailable

if TYPE_CHECKING:
    import httpx
    from jwt import PyJWK

_log = structlog.get_logger(__name__)
MAX_JWKS_BYTES = 1_000_000
_FETCH_TIMEOUT_S = 3.0
FRESH_FOR = timedelta(hours=1)
REFRESH_AT_MOST_EVERY = timedelta(seconds=30)

Keys = Mapping[str, "PyJWK"]


class InvalidJwks(Exception):
    """No usable key set."""


class KeySource(Protocol):
    """Finds an issuer's key by its id."""

    async def find(self, kid: str) -> "PyJWK | None":
        """The key, or None. Raises `TemporarilyUnavailable` where keys cannot be had at present."""
        ...


def parse_jwks(content: bytes) -> dict[str, "PyJWK"]:
    """The signing keys of a JWKS document by id. Keys of kinds that we do not know are left out."""
    from jwt import PyJWK, PyJWTError  # noqa: PLC0415 see `verifier`

    try:
        document = json.loads(content)
        entries = document["keys"]
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidJwks("not a JWKS document") from error
    found: dict[str, PyJWK] = {}
    for entry in entries if isinstance(entries, list) else []:
        if not isinstance(entry, dict) or not isinstance(entry.get("kid"), str) or entry.get("use", "sig") != "sig":
            continue
        try:
            found[entry["kid"]] = PyJWK.from_dict(entry)
        except PyJWTError:
            _log.info("jwks_key_skipped", kid=entry["kid"])
    return found


class GivenKeys:
    """Keys that are at hand: the local issuer's. They are parsed when one is asked for."""

    def __init__(self, jwks: list[dict[str, Any]]) -> None:
        self._jwks = json.dumps({"keys": jwks}).encode()

    @cached_property
    def _keys(self) -> Keys:
        return parse_jwks(self._jwks)

    async def find(self, kid: str) -> "PyJWK | None":
        return self._keys.get(kid)


Fetch = Callable[[], Awaitable[bytes]]


class RotatingKeys:
    """Keys behind a fetch: kept for an hour, asked for again when a key id is unknown, though not too often.

    A failed fetch keeps the keys of the last good one.
    """

    def __init__(self, name: str, fetch: Fetch, clock: Clock) -> None:
        self._name = name
        self._fetch = fetch
        self._clock = clock
        self._keys: Keys | None = None
        self._fetched_at: datetime | None = None
        self._tried_at: datetime | None = None
        self._lock = asyncio.Lock()

    async def find(self, kid: str) -> "PyJWK | None":
        refreshing = self._lock.locked() and kid in (self._keys or {})
        if self._due(kid) and not refreshing:
            async with self._lock:
                if self._due(kid):  # whoever held the lock has fetched
                    await self._refresh()
        if self._keys is None:
            raise TemporarilyUnavailable("issuer_unavailable", "the issuer's keys cannot be had", retry_after_s=5)
        return self._keys.get(kid)

    def _due(self, kid: str) -> bool:
        now = self._clock.now()
        if self._tried_at is not None and now - self._tried_at < REFRESH_AT_MOST_EVERY:
            return False
        stale = self._fetched_at is None or now - self._fetched_at > FRESH_FOR
        return stale or kid not in (self._keys or {})

    async def _refresh(self) -> None:
        self._tried_at = self._clock.now()
        try:
            self._keys = parse_jwks(await self._fetch())
        except (OSError, InvalidJwks) as error:
            _log.warning("jwks_fetch_failed", issuer=self._name, error=type(error).__name__)
            return
        self._fetched_at = self._clock.now()


def from_file(path: Path) -> Fetch:
    """Reads a JWKS file, off the event loop."""

    def read() -> bytes:
        with path.open("rb") as file:
            return file.read(MAX_JWKS_BYTES)

    async def fetch() -> bytes:
        return await asyncio.to_thread(read)

    return fetch


def from_url(url: str, transport: "httpx.AsyncBaseTransport | None" = None) -> Fetch:
    """Fetches a JWKS over https: 3 s, 1 MB, no redirects. Raises `OSError` and `InvalidJwks`."""

    async def fetch() -> bytes:
        import httpx  # noqa: PLC0415 only installations with foreign issuers need it

        content = bytearray()
        try:
            async with (
                asyncio.timeout(_FETCH_TIMEOUT_S),
                httpx.AsyncClient(timeout=_FETCH_TIMEOUT_S, transport=transport) as client,
                client.stream("GET", url) as response,
            ):
                response.raise_for_status()
                async for chunk in response.aiter_bytes():
                    content += chunk
                    if len(content) > MAX_JWKS_BYTES:
                        raise InvalidJwks("the document is too large")
        except (httpx.HTTPError, AttributeError) as error:  # AttributeError: anyio's, as a connection breaks
            raise OSError(type(error).__name__) from error
        return bytes(content)

    return fetch

"""Trusted token issuers and their public keys: fixed, from a file, or from an https URL."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import urlsplit

import structlog

from aex_models.audiences import Audience
from aex_runtime.clock import Clock
from aex_runtime.errors import TemporarilyUnavailable
from aex_runtime.identity.local_key import LOCAL_ISS, LocalKey
from aex_runtime.identity.principals import ClaimedSubjects, GoogleSubjects, Subjects
from aex_runtime.setting_types import GOOGLE_ISS, IssuerSettings

if TYPE_CHECKING:
    import httpx
    from jwt import PyJWK

ALL_ROLES = frozenset(Audience)
AUDIENCE_PREFIX = "aex:"
"""Prefix of services' names in the audience of Google's ID tokens, which Google issues to every account for any
audience. Another system could call itself `governance`, and a token of ours for it must not be valid here."""
MAX_JWKS_BYTES = 1_000_000
_FETCH_TIMEOUT_S = 3.0
FRESH_FOR = timedelta(hours=1)
REFRESH_AT_MOST_EVERY = timedelta(seconds=30)

Keys = Mapping[str, "PyJWK"]
Fetch = Callable[[], Awaitable[bytes]]
_log = structlog.get_logger(__name__)


class InvalidJwks(Exception):
    """Unusable key set."""


class KeySource(Protocol):
    """Source of an issuer's keys."""

    async def find(self, kid: str) -> "PyJWK | None":
        """Return the key with this id, or None. Raises `TemporarilyUnavailable` when no keys can be fetched."""


def parse_jwks(content: bytes) -> dict[str, "PyJWK"]:
    """Return the signing keys of a JWKS document by id, without keys of unknown kinds."""
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


class StaticKeys:
    """Fixed keys, such as the local issuer's, parsed on first use."""

    def __init__(self, jwks: list[dict[str, Any]]) -> None:
        self._jwks = json.dumps({"keys": jwks}).encode()

    @cached_property
    def _keys(self) -> Keys:
        return parse_jwks(self._jwks)

    async def find(self, kid: str) -> "PyJWK | None":
        return self._keys.get(kid)


class JwksCache:
    """Fetched keys, refreshed after an hour, or for an unknown key id at most every 30 s.

    A failed fetch leaves the keys as they are.
    """

    def __init__(self, name: str, fetch: Fetch, clock: Clock) -> None:
        self._name, self._fetch, self._clock = name, fetch, clock
        self._keys: Keys | None = None
        self._fetched_at: datetime | None = None
        self._attempted_at: datetime | None = None
        self._lock = asyncio.Lock()

    async def find(self, kid: str) -> "PyJWK | None":
        is_refreshing = self._lock.locked() and kid in (self._keys or {})
        if self._is_due(kid) and not is_refreshing:
            async with self._lock:
                if self._is_due(kid):  # unless the previous holder of the lock has fetched
                    await self._refresh()
        if self._keys is None:
            message = "the issuer's keys cannot be fetched; retry after 5 s"
            raise TemporarilyUnavailable("issuer_unavailable", message, retry_after_s=5)
        return self._keys.get(kid)

    def _is_due(self, kid: str) -> bool:
        now = self._clock.now()
        if self._attempted_at is not None and now - self._attempted_at < REFRESH_AT_MOST_EVERY:
            return False
        is_stale = self._fetched_at is None or now - self._fetched_at > FRESH_FOR
        return is_stale or kid not in (self._keys or {})

    async def _refresh(self) -> None:
        self._attempted_at = self._clock.now()
        try:
            self._keys = parse_jwks(await self._fetch())
        except (OSError, InvalidJwks) as error:
            _log.warning("jwks_fetch_failed", issuer=self._name, error=type(error).__name__)
            return
        self._fetched_at = self._clock.now()


def file_fetcher(path: Path) -> Fetch:
    """Return a function that reads a JWKS file in a thread."""

    def read() -> bytes:
        with path.open("rb") as file:
            return file.read(MAX_JWKS_BYTES)

    return partial(asyncio.to_thread, read)


def url_fetcher(url: str, transport: "httpx.AsyncBaseTransport | None" = None) -> Fetch:
    """Return a function that fetches a JWKS within 3 s and 1 MB, without redirects.

    It raises `OSError` and `InvalidJwks`.
    """

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
        except (httpx.HTTPError, AttributeError) as error:  # anyio raises AttributeError on a broken connection
            raise OSError(type(error).__name__) from error
        return bytes(content)

    return fetch


@dataclass(frozen=True, slots=True)
class Issuer:
    """Trusted issuer: its keys, algorithms, and the principals that its tokens may name."""

    iss: str
    algorithms: tuple[str, ...]
    keys: KeySource
    subjects: Subjects
    audience_prefix: str = ""
    """Text before the service's name in `aud`."""


def local_issuer(key: LocalKey, roles: frozenset[Audience] = ALL_ROLES) -> Issuer:
    """Return the installation's own issuer, which grants these roles."""
    return Issuer(LOCAL_ISS, ("EdDSA",), StaticKeys([key.jwk()]), ClaimedSubjects(roles))


def configured_issuers(settings: Sequence[IssuerSettings], clock: Clock) -> list[Issuer]:
    """Return the issuers of the settings."""
    return [
        Issuer(each.iss, each.algorithms, JwksCache(each.iss, _fetcher(each.jwks), clock), ClaimedSubjects(each.roles))
        for each in settings
    ]


def google_issuer(accounts: Mapping[str, str], jwks: str, clock: Clock) -> Issuer:
    """Return Google as issuer, for the services' accounts only. `accounts`: service → e-mail address."""
    subjects = GoogleSubjects({account: service for service, account in accounts.items()})
    return Issuer(GOOGLE_ISS, ("RS256",), JwksCache(GOOGLE_ISS, _fetcher(jwks), clock), subjects, AUDIENCE_PREFIX)


def _fetcher(jwks: str) -> Fetch:
    parts = urlsplit(jwks)
    return url_fetcher(jwks) if parts.scheme == "https" else file_fetcher(Path(parts.path if parts.scheme else jwks))

"""Trusted issuers of tokens, and their public keys: fixed, from a file, or from an https URL."""

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
"""Prefix of a service's name in the audience of Google's ID tokens.

Google issues tokens to every account for any audience. Another system may be called `governance` too, and a token of
ours for it must not be valid here.
"""
MAX_JWKS_BYTES = 1_000_000
_FETCH_TIMEOUT_S = 3.0
FRESH_FOR = timedelta(hours=1)
REFRESH_AT_MOST_EVERY = timedelta(seconds=30)

Keys = Mapping[str, "PyJWK"]
Fetch = Callable[[], Awaitable[bytes]]
_log = structlog.get_logger(__name__)


class InvalidJwks(Exception):
    """A JWKS document that cannot be used."""


class KeySource(Protocol):
    """The public keys of an issuer."""

    async def find_key(self, kid: str) -> "PyJWK | None":
        """Return the key with this id; None if the issuer has no such key.

        A source may fetch the keys. Raises `TemporarilyUnavailable` if none could ever be fetched.
        """


def parse_jwks(content: bytes) -> dict[str, "PyJWK"]:
    """Return the signing keys of a JWKS document, by their ids. Keys of unknown kinds are skipped.

    Raises `InvalidJwks`.
    """
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
    """A source of fixed keys, such as those of the local issuer, parsed at first use."""

    def __init__(self, jwks: list[dict[str, Any]]) -> None:
        self._jwks = json.dumps({"keys": jwks}).encode()

    @cached_property
    def _keys(self) -> Keys:
        return parse_jwks(self._jwks)

    async def find_key(self, kid: str) -> "PyJWK | None":
        return self._keys.get(kid)


class JwksCache:
    """A source that fetches keys and keeps them for an hour.

    A key id that is not among them causes another fetch, at most every 30 s. After a failed fetch the old keys remain
    in use.
    """

    def __init__(self, name: str, fetch: Fetch, clock: Clock) -> None:
        self._name, self._fetch, self._clock = name, fetch, clock
        self._keys: Keys | None = None
        self._fetched_at: datetime | None = None
        self._attempted_at: datetime | None = None
        self._lock = asyncio.Lock()

    async def find_key(self, kid: str) -> "PyJWK | None":
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


def jwks_file_fetcher(path: Path) -> Fetch:
    """Return a function that reads a JWKS file in a thread; it raises `OSError`."""

    def read() -> bytes:
        with path.open("rb") as file:
            return file.read(MAX_JWKS_BYTES)

    return partial(asyncio.to_thread, read)


def jwks_url_fetcher(url: str, transport: "httpx.AsyncBaseTransport | None" = None) -> Fetch:
    """Return a function that fetches a JWKS document within 3 s and up to 1 MB, without redirects.

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
    """A trusted issuer: its keys, its algorithms, and the principals that its tokens may name."""

    iss: str
    algorithms: tuple[str, ...]
    keys: KeySource
    subjects: Subjects
    audience_prefix: str = ""
    """Text before the service's name in the claim `aud`."""


def local_issuer(key: LocalKey, roles: frozenset[Audience] = ALL_ROLES) -> Issuer:
    """Return the issuer of this installation, which signs with `key` and may grant `roles`."""
    return Issuer(LOCAL_ISS, ("EdDSA",), StaticKeys([key.public_jwk()]), ClaimedSubjects(roles))


def configured_issuers(settings: Sequence[IssuerSettings], clock: Clock) -> list[Issuer]:
    """Return an issuer for each entry of the setting `AEX_ISSUERS`. Keys are fetched at first use."""
    return [
        Issuer(each.iss, each.algorithms, JwksCache(each.iss, _fetcher(each.jwks), clock), ClaimedSubjects(each.roles))
        for each in settings
    ]


def google_issuer(accounts: Mapping[str, str], jwks: str, clock: Clock) -> Issuer:
    """Return Google as an issuer that names this installation's services only.

    `accounts` maps each service to the e-mail address of its account; `jwks` is the file or URL of Google's keys.
    """
    subjects = GoogleSubjects({account: service for service, account in accounts.items()})
    return Issuer(GOOGLE_ISS, ("RS256",), JwksCache(GOOGLE_ISS, _fetcher(jwks), clock), subjects, AUDIENCE_PREFIX)


def _fetcher(jwks: str) -> Fetch:
    parts = urlsplit(jwks)
    return (
        jwks_url_fetcher(jwks)
        if parts.scheme == "https"
        else jwks_file_fetcher(Path(parts.path if parts.scheme else jwks))
    )

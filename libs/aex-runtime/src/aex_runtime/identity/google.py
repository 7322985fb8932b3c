"""Google's ID tokens for calls between services, from the metadata server of the machine.

Tokens are read by one documented GET request. Google's own library is not used. It starts a thread that cannot be
stopped, retries on its own, reads responses of any length, and follows redirects and proxies.
https://cloud.google.com/compute/docs/instances/verifying-instance-identity
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import jwt
import structlog

from aex_models.backoff import Backoff
from aex_models.numbers import is_finite_number
from aex_runtime.clock import Clock
from aex_runtime.errors import TemporarilyUnavailable
from aex_runtime.identity.issuers import AUDIENCE_PREFIX
from aex_runtime.identity.tokens import ServiceTokens
from aex_runtime.identity.verifier import MAX_TOKEN_CHARS
from aex_runtime.ids import Ids
from aex_runtime.retry import Retries

_log = structlog.get_logger(__name__)
_PATH = "/computeMetadata/v1/instance/service-accounts/default/identity"
_RETRY = Backoff(first=timedelta(milliseconds=100), cap=timedelta(seconds=1))
_RETRYABLE_STATUSES = frozenset({httpx.codes.REQUEST_TIMEOUT, httpx.codes.TOO_MANY_REQUESTS})
"""Statuses to retry, besides 5xx. Others concern the account or the request, and would not change."""


class NoIdToken(Exception):
    """The failure to get an ID token. The message is the reason, without any text of the response."""

    def __init__(self, reason: str, *, retryable: bool = False) -> None:
        super().__init__(reason)
        self.retryable = retryable


class MetadataServer:
    """A client of Google's metadata server at `host` (`name` or `name:port`).

    A call takes at most `total_s` seconds with all attempts and pauses, which is less than verification waits for
    governance.
    """

    def __init__(self, host: str, ids: Ids, *, attempts: int = 3, attempt_s: float = 1.5, total_s: float = 4.0) -> None:
        self._url, self._ids = f"http://{host}{_PATH}", ids
        self._attempts, self._attempt_s, self._total_s = attempts, attempt_s, total_s

    async def fetch_id_token(self, audience: str) -> str:
        """Fetch an ID token for `audience`, with retries after temporary failures.

        The token is returned as the server sent it, unchecked. Raises `NoIdToken`.
        """
        retries = Retries(_RETRY, self._ids)
        try:
            async with asyncio.timeout(self._total_s):
                while True:
                    try:
                        return await self._fetch(audience)
                    except NoIdToken as error:
                        if not error.retryable or retries.failures == self._attempts - 1:
                            raise
                        await retries.count_failure_log_and_wait("id_token_retried", str(error), audience=audience)
        except TimeoutError as error:
            raise NoIdToken(f"no answer within {self._total_s:g} s") from error

    async def _fetch(self, audience: str) -> str:
        content = bytearray()
        try:
            async with (
                asyncio.timeout(self._attempt_s),
                # The server is on this machine: no proxy, redirect or certificate applies (loading them takes 15 ms).
                httpx.AsyncClient(timeout=self._attempt_s, trust_env=False, verify=False) as client,  # noqa: S501
                client.stream(
                    "GET",
                    self._url,
                    params={"audience": audience, "format": "full"},  # `full`: with the account's e-mail address
                    headers={"Metadata-Flavor": "Google"},
                ) as response,
            ):
                status = response.status_code
                if status != httpx.codes.OK:
                    raise NoIdToken(f"status {status}", retryable=status >= 500 or status in _RETRYABLE_STATUSES)
                async for chunk in response.aiter_bytes():
                    content += chunk
                    if len(content) > MAX_TOKEN_CHARS:
                        raise NoIdToken("the response is longer than a token")
        except (httpx.HTTPError, AttributeError, TimeoutError) as error:  # anyio raises AttributeError on a broken pipe
            raise NoIdToken(type(error).__name__, retryable=True) from error
        try:
            return content.decode("ascii").strip()
        except UnicodeDecodeError as error:
            raise NoIdToken("the response is no token") from error


RENEW_BEFORE = timedelta(minutes=2)
"""Time before its end at which a token is renewed. It lasts an hour; this covers outages of the metadata server."""
PAUSE = timedelta(seconds=1)
"""The least time between two fetches for one audience, successful or not."""
_MAX_LIFETIME = timedelta(days=1)
"""Longer than the lifetime of any token of Google."""
_LONG_AGO = datetime.min.replace(tzinfo=UTC) + timedelta(days=1)

Fetch = Callable[[str], Awaitable[str]]
"""Function that fetches a token for an audience, as the token names it. Raises `NoIdToken`."""


@dataclass(slots=True)
class _CachedToken:
    """The latest token for one audience, its end, and when the last fetch ended, successful or not."""

    token: str = ""
    ends_at: datetime = _LONG_AGO
    fetched_at: datetime = _LONG_AGO
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def is_renewal_due(self, now: datetime) -> bool:
        """Return whether to fetch: the token is missing or near its end, and `PAUSE` has passed."""
        return now >= self.ends_at - RENEW_BEFORE and not timedelta(0) <= now - self.fetched_at < PAUSE


class GoogleServiceTokens(ServiceTokens):
    """Google's ID tokens of `account`, cached for each audience until shortly before their end.

    Concurrent callers share one fetch, and its failure. After a failed renewal the old token is used until its end.
    """

    def __init__(self, account: str, fetch: Fetch, clock: Clock) -> None:
        self._account, self._fetch, self._clock = account, fetch, clock
        self._cache: defaultdict[str, _CachedToken] = defaultdict(_CachedToken)

    async def get_token(self, audience: str) -> str:
        cached, now = self._cache[audience], self._clock.now()
        is_renewing = cached.lock.locked() and now < cached.ends_at
        if cached.is_renewal_due(now) and not is_renewing:
            async with cached.lock:
                if cached.is_renewal_due(self._clock.now()):  # unless the previous holder of the lock has fetched
                    await self._renew(audience, cached)
        if self._clock.now() >= cached.ends_at:
            message = "Google's metadata server returns no token for calls to other services; retry after 5 s"
            raise TemporarilyUnavailable("service_token_unavailable", message, retry_after_s=5)
        return cached.token

    async def _renew(self, audience: str, cached: _CachedToken) -> None:
        full_audience = AUDIENCE_PREFIX + audience
        try:
            token = await self._fetch(full_audience)
            cached.ends_at = check_and_get_token_end(token, full_audience, self._account, self._clock.now())
            cached.token = token
        except NoIdToken as error:
            _log.warning("id_token_missing", audience=full_audience, reason=str(error))
        cached.fetched_at = self._clock.now()


def check_and_get_token_end(token: str, audience: str, account: str, now: datetime) -> datetime:
    """Check the claims of a token and return the time at which it ends.

    Raises `NoIdToken` for another audience, account or lifetime. The signature is checked by the called service; the
    checks here explain a failure better than its 401 would.
    """
    try:
        claims = jwt.decode(token, options={"verify_signature": False})
    except (jwt.PyJWTError, ValueError, RecursionError) as error:
        raise NoIdToken("the response is no token") from error
    if claims.get("aud") != audience:
        raise NoIdToken("the token is for another audience")
    if claims.get("email") != account:
        raise NoIdToken(f"this process does not run as {account}, which AEX_SERVICE_ACCOUNTS names for it")
    end: Any = claims.get("exp")
    if not is_finite_number(end) or not now.timestamp() < end < (now + _MAX_LIFETIME).timestamp():
        raise NoIdToken("the token has no valid end, or has expired")
    return datetime.fromtimestamp(end, UTC)

"""Tokens with which one service calls another, signed by Google for the account that the service runs as."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import jwt
import structlog

from aex_models.numbers import is_number
from aex_runtime.clock import Clock
from aex_runtime.errors import TemporarilyUnavailable
from aex_runtime.google_identity import google_audience
from aex_runtime.identity.google_metadata import NoIdToken
from aex_runtime.identity.service_tokens import bearing

_log = structlog.get_logger(__name__)
RENEW_BEFORE = timedelta(minutes=2)
"""A token lasts an hour; the rest of it is for a metadata server that is away for a while."""
PAUSE = timedelta(seconds=1)
"""Between the end of one fetch and the next for the same audience, whatever came of it."""
_LONGEST = timedelta(days=1)
"""More than Google gives; what claims to last longer is no token of Google's."""

Fetch = Callable[[str], Awaitable[str]]
"""From an audience, as the token is to name it, to a token. Raises `NoIdToken`."""


@dataclass(frozen=True, slots=True)
class HeldToken:
    """A token, and when it is over."""

    token: str
    ends_at: datetime


@dataclass(slots=True)
class _Place:
    """What is known for one audience."""

    held: HeldToken | None = None
    fetched_at: datetime | None = None
    """When the last fetch ended, well or badly."""
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    def usable(self, now: datetime) -> HeldToken | None:
        return self.held if self.held is not None and now < self.held.ends_at else None

    def is_due(self, now: datetime) -> bool:
        """Whether to fetch: there is none, or it grows old; and it was not tried a moment ago."""
        old = self.held is None or now >= self.held.ends_at - RENEW_BEFORE
        return old and not (self.fetched_at is not None and timedelta(0) <= now - self.fetched_at < PAUSE)


class GoogleServiceTokens:
    """ID tokens of `account`, one for each audience, fetched one at a time and kept until shortly before their end.

    Whoever waits for a fetch shares what comes of it, a failure too. Where a renewal fails, the old token serves as
    long as it lasts.
    """

    def __init__(self, account: str, fetch: Fetch, clock: Clock) -> None:
        self._account = account
        self._fetch = fetch
        self._clock = clock
        self._places: defaultdict[str, _Place] = defaultdict(_Place)

    async def token(self, audience: str) -> str:
        place, now = self._places[audience], self._clock.now()
        renewing = place.lock.locked() and place.usable(now) is not None
        if place.is_due(now) and not renewing:
            async with place.lock:
                if place.is_due(self._clock.now()):  # whoever held the lock has fetched
                    await self._renew(audience, place)
        held = place.usable(self._clock.now())
        if held is None:
            raise TemporarilyUnavailable(
                "service_token_unavailable", "Google gives no token to call other services with", retry_after_s=5
            )
        return held.token

    async def headers(self, audience: str) -> dict[str, str]:
        return bearing(await self.token(audience))

    async def _renew(self, audience: str, place: _Place) -> None:
        named = google_audience(audience)
        try:
            place.held = held_token(await self._fetch(named), named, self._account, self._clock.now())
        except NoIdToken as error:
            _log.warning("id_token_missing", audience=named, reason=str(error))
        place.fetched_at = self._clock.now()


def held_token(token: str, audience: str, account: str, now: datetime) -> HeldToken:
    """A token as it came, with its end, once it is what was asked for. Raises `NoIdToken`.

    Its signature is the callee's to check; what is checked here would come back as a 401 that explains less.
    """
    try:
        claims = jwt.decode(token, options={"verify_signature": False})
    except (jwt.PyJWTError, ValueError, RecursionError) as error:
        raise NoIdToken("the answer is no token") from error
    if claims.get("aud") != audience:
        raise NoIdToken("the token is for somebody else")
    if claims.get("email") != account:
        raise NoIdToken(f"this process does not run as {account}, which AEX_SERVICE_ACCOUNTS names for it")
    ends: Any = claims.get("exp")
    if not is_number(ends) or not now.timestamp() < ends < (now + _LONGEST).timestamp():
        raise NoIdToken("the token does not say when it ends, or is over")
    return HeldToken(token, datetime.fromtimestamp(ends, UTC))

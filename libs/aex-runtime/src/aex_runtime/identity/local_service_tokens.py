"""Tokens with which one service calls another, signed with the platform's own key."""

from datetime import datetime, timedelta

from aex_models.audiences import Audience
from aex_runtime.clock import Clock
from aex_runtime.identity.local_issuer import LocalIssuer
from aex_runtime.identity.service_tokens import bearing

_TTL = timedelta(minutes=5)
_RENEW_BEFORE = timedelta(minutes=1)


class LocalServiceTokens:
    """Tokens signed with the local key; `sub` is `service:{name}`. One for each audience, until it grows old."""

    def __init__(self, issuer: LocalIssuer, name: str, clock: Clock) -> None:
        self._issuer = issuer
        self._sub = f"service:{name}"
        self._clock = clock
        self._cached: dict[str, tuple[str, datetime]] = {}

    async def token(self, audience: str) -> str:
        now = self._clock.now()
        cached = self._cached.get(audience)
        if cached is not None and now < cached[1]:
            return cached[0]
        token = self._issuer.mint(self._sub, Audience.SERVICE, [audience], ttl=_TTL)
        self._cached[audience] = (token, now + _TTL - _RENEW_BEFORE)
        return token

    async def headers(self, audience: str) -> dict[str, str]:
        return bearing(await self.token(audience))

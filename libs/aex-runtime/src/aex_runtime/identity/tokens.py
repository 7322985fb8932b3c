"""Tokens that a service issues and sends, and the issuers that it trusts."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Protocol

from aex_models.audiences import Audience
from aex_models.events import SERVICES
from aex_runtime.clock import Clock
from aex_runtime.identity.issuers import ALL_ROLES, Issuer, configured_issuers, google_issuer, local_issuer
from aex_runtime.identity.local_key import LOCAL_ISS, LocalKey
from aex_runtime.ids import Ids
from aex_runtime.settings import RuntimeSettings
from aex_runtime.telemetry import current_trace_context


class ServiceTokens(Protocol):
    """Short-lived tokens for calls to other services."""

    async def get_token(self, audience: str) -> str:
        """Return a token for calls to the service `audience`, in the role `service`; a cached one if valid.

        Raises `TemporarilyUnavailable` if none can be obtained.
        """

    async def call_headers(self, audience: str) -> dict[str, str]:
        """Return the headers of a call to the service `audience`: a token and the current trace context.

        Raises `TemporarilyUnavailable` if no token can be obtained.
        """
        return {"Authorization": f"Bearer {await self.get_token(audience)}", **current_trace_context()}


class LocalIssuer:
    """Issues tokens signed with the local key."""

    def __init__(self, key: LocalKey, clock: Clock, ids: Ids) -> None:
        self._key, self._clock, self._ids = key, clock, ids

    def mint(
        self,
        sub: str,
        role: Audience | str,
        audiences: Sequence[str] = SERVICES,
        org: str | None = None,
        ttl: timedelta = timedelta(hours=12),
    ) -> str:
        """Return a new token for `sub` in `role`, valid for `ttl` at the services `audiences`."""
        import jwt  # noqa: PLC0415 see `verifier`

        now = self._clock.now()
        claims: dict[str, object] = {
            "iss": LOCAL_ISS,
            "sub": sub,
            "aud": list(audiences),
            "role": Audience(role).value,
            "iat": int(now.timestamp()),
            "exp": int((now + ttl).timestamp()),
            "jti": self._ids.new("tok"),
        }
        if org is not None:
            claims["org"] = org
        return jwt.encode(claims, self._key.private, algorithm="EdDSA", headers={"kid": self._key.kid})


_TTL = timedelta(minutes=5)
_RENEW_BEFORE = timedelta(minutes=1)


class LocalServiceTokens(ServiceTokens):
    """Tokens of the principal `service:{name}`, signed with the local key and cached for each audience."""

    def __init__(self, issuer: LocalIssuer, name: str, clock: Clock) -> None:
        self._issuer, self._sub, self._clock = issuer, f"service:{name}", clock
        self._cached: dict[str, tuple[str, datetime]] = {}

    async def get_token(self, audience: str) -> str:
        now = self._clock.now()
        cached = self._cached.get(audience)
        if cached is not None and now < cached[1]:
            return cached[0]
        token = self._issuer.mint(self._sub, Audience.SERVICE, [audience], ttl=_TTL)
        self._cached[audience] = (token, now + _TTL - _RENEW_BEFORE)
        return token


def trusted_issuers(settings: RuntimeSettings, key: LocalKey, clock: Clock) -> list[Issuer]:
    """Return the issuers whose tokens a service accepts.

    These are the local one, those of `AEX_ISSUERS`, and Google if it signs the tokens between services. Then the local
    issuer cannot grant the role `service`, so that a stolen key cannot act as a service.
    """
    configured = configured_issuers(settings.issuers, clock)
    if settings.service_tokens == "local":
        return [local_issuer(key), *configured]
    google = google_issuer(settings.service_accounts, settings.google_jwks, clock)
    return [local_issuer(key, ALL_ROLES - {Audience.SERVICE}), google, *configured]


def open_service_tokens(
    settings: RuntimeSettings, service: str, issuer: LocalIssuer, clock: Clock, ids: Ids
) -> ServiceTokens:
    """Return the source of a service's tokens for calls to others, local or Google's by the settings.

    Nothing is fetched before the first call.
    """
    if settings.service_tokens == "local":
        return LocalServiceTokens(issuer, service, clock)
    from aex_runtime.identity import google  # noqa: PLC0415 imports httpx, which most services do not need at start

    server = google.MetadataServer(settings.metadata_host, ids)
    return google.GoogleServiceTokens(settings.service_accounts[service], server.fetch_id_token, clock)

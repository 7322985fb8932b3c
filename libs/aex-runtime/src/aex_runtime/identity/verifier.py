"""Verifies bearer tokens: who signed, for whom, until when, and whether the signer may name that principal."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from aex_models.numbers import is_number
from aex_runtime.clock import Clock
from aex_runtime.errors import Unauthenticated
from aex_runtime.identity.issuers import Issuer
from aex_runtime.identity.principal import Principal
from aex_runtime.identity.token_cache import TokenCache

if TYPE_CHECKING:
    from jwt import PyJWK

MAX_TOKEN_CHARS = 8_192
LEEWAY = timedelta(seconds=30)
"""How far clocks may differ."""
_END_OF_TIME = 253_000_000_000  # the year 9987; later ones overflow once leeway is added
_REQUIRED = ("iss", "aud", "exp")
_OPTIONS: dict[str, Any] = {
    "verify_exp": False,  # times are checked against the injected clock
    "verify_nbf": False,
    "verify_iat": False,
    "enforce_minimum_key_length": True,
}


class TokenVerifier:
    """Verifies tokens for one service (`audience`)."""

    def __init__(self, issuers: Sequence[Issuer], audience: str, clock: Clock) -> None:
        self._issuers = {issuer.iss: issuer for issuer in issuers}
        if len(self._issuers) != len(issuers):
            raise ValueError("two issuers have the same iss")
        self._audience = audience
        self._clock = clock
        self._cache = TokenCache()

    async def verify(self, token: str) -> Principal:
        """The principal that a token names. Raises `Unauthenticated`, or `TemporarilyUnavailable` without keys."""
        if len(token) > MAX_TOKEN_CHARS:
            raise Unauthenticated("invalid_token", "the token is too long")
        now = self._clock.now()
        known = self._cache.get(token, now)
        if known is not None:
            return known
        claims, issuer = await self._verified(token)
        expires_at = _check_times(claims, now)
        principal = issuer.subjects.principal(claims, issuer.iss, expires_at)
        self._cache.put(token, principal, now, expires_at)
        return principal

    async def _verified(self, token: str) -> tuple[Mapping[str, Any], Issuer]:
        import jwt  # noqa: PLC0415 with X.509 15 ms, and a start has no token

        issuer, key, algorithm = await self._signer(token)
        audience = issuer.audience_prefix + self._audience
        options: Any = {**_OPTIONS, "require": [*_REQUIRED, *issuer.subjects.required]}
        try:
            claims = jwt.decode(
                token, key, algorithms=[algorithm], audience=audience, issuer=issuer.iss, options=options
            )
        except jwt.MissingRequiredClaimError as error:
            raise Unauthenticated("invalid_token", f"the token lacks {error.claim}") from error
        except jwt.InvalidAudienceError as error:
            raise Unauthenticated("wrong_audience", f"the token is not for {audience}") from error
        except jwt.PyJWTError as error:
            raise Unauthenticated("invalid_token", "the token's signature or shape is wrong") from error
        return claims, issuer

    async def _signer(self, token: str) -> "tuple[Issuer, PyJWK, str]":
        """Who claims to have signed, with which key. Nothing of this is believed before the signature is checked."""
        import jwt  # noqa: PLC0415 see above

        try:
            unverified = jwt.decode_complete(token, options={"verify_signature": False})
        except (jwt.PyJWTError, ValueError, RecursionError) as error:
            raise Unauthenticated("invalid_token", "that is no token") from error
        header, iss = unverified["header"], unverified["payload"].get("iss")
        issuer = self._issuers.get(iss) if isinstance(iss, str) else None
        if issuer is None:
            raise Unauthenticated("unknown_issuer", "the token's issuer is not trusted here")
        algorithm, kid = header.get("alg"), header.get("kid")
        if algorithm not in issuer.algorithms:
            raise Unauthenticated("wrong_algorithm", "the token's algorithm is not the issuer's")
        key = await issuer.keys.find(kid) if isinstance(kid, str) else None
        if key is None or key.algorithm_name != algorithm:
            raise Unauthenticated("unknown_key", "the token's key is not the issuer's")
        return issuer, key, algorithm


def _check_times(claims: Mapping[str, Any], now: datetime) -> datetime:
    """When the token is over, leeway included. Raises `Unauthenticated` where it is, or is not valid yet."""
    expires_at = _moment(claims, "exp") + LEEWAY
    if expires_at <= now:
        raise Unauthenticated("expired_token", "the token has expired")
    if any(_moment(claims, name) > now + LEEWAY for name in ("nbf", "iat") if name in claims):
        raise Unauthenticated("invalid_token", "the token is not valid yet")
    return expires_at


def _moment(claims: Mapping[str, Any], name: str) -> datetime:
    value = claims[name]
    if not is_number(value) or not 0 <= value < _END_OF_TIME:
        raise Unauthenticated("invalid_token", f"{name} is not a moment")
    return datetime.fromtimestamp(value, UTC)

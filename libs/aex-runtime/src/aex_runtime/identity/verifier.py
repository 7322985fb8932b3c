"""Verification of bearer tokens, with a cache: a signature costs more than the rest of a request."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from aex_models.numbers import is_finite_number
from aex_runtime.clock import Clock
from aex_runtime.errors import Unauthenticated
from aex_runtime.identity.issuers import Issuer
from aex_runtime.identity.principals import Principal

if TYPE_CHECKING:
    from jwt import PyJWK

MAX_TOKENS = 4_096
TRUSTED_FOR = timedelta(seconds=60)
"""Time until a token is verified again, so that a withdrawn key stops working."""


class TokenCache:
    """The principals of verified tokens, by digest, each for at most a minute and not past its end."""

    def __init__(self) -> None:
        self._entries: OrderedDict[bytes, tuple[Principal, datetime]] = OrderedDict()

    def get(self, digest: bytes, now: datetime) -> Principal | None:
        """Return the principal of a token that was verified within the last minute, else None."""
        principal, until = self._entries.get(digest, (None, now))
        if until - TRUSTED_FOR <= now < until:
            return principal
        self._entries.pop(digest, None)  # expired, or the clock was set back
        return None

    def put(self, digest: bytes, principal: Principal, now: datetime, expires_at: datetime) -> None:
        """Add a token that was just verified; the oldest entry is dropped if there are too many."""
        self._entries[digest] = (principal, min(now + TRUSTED_FOR, expires_at))
        if len(self._entries) > MAX_TOKENS:
            self._entries.popitem(last=False)


MAX_TOKEN_CHARS = 8_192
LEEWAY = timedelta(seconds=30)
"""Allowed difference between clocks."""
_MAX_TIMESTAMP = 253_000_000_000  # the year 9987; later ones overflow with the leeway
_REQUIRED = ("iss", "aud", "exp")
_OPTIONS: dict[str, Any] = {
    "verify_exp": False,  # times are checked against the injected clock
    "verify_nbf": False,
    "verify_iat": False,
    "enforce_minimum_key_length": True,
}


class TokenVerifier:
    """Verifies tokens for the service `audience`."""

    def __init__(self, issuers: Sequence[Issuer], audience: str, clock: Clock) -> None:
        self._issuers = {issuer.iss: issuer for issuer in issuers}
        if len(self._issuers) != len(issuers):
            raise ValueError("two issuers have the same iss")
        self._audience, self._clock, self._cache = audience, clock, TokenCache()

    async def verify(self, token: str) -> Principal:
        """Verify a token and return its principal; a token verified within the last minute is trusted.

        Raises `Unauthenticated`, and `TemporarilyUnavailable` if the issuer's keys cannot be fetched.
        """
        if len(token) > MAX_TOKEN_CHARS:
            raise Unauthenticated("invalid_token", f"a token has at most {MAX_TOKEN_CHARS} characters")
        now = self._clock.now()
        digest = sha256(token.encode("utf-8", "surrogatepass")).digest()
        principal = self._cache.get(digest, now)
        if principal is not None:
            return principal
        claims, issuer = await self._verify_claims(token)
        expires_at = _check_times(claims, now)
        principal = issuer.subjects.principal_of(claims, issuer.iss, expires_at)
        self._cache.put(digest, principal, now, expires_at)
        return principal

    async def _verify_claims(self, token: str) -> tuple[Mapping[str, Any], Issuer]:
        import jwt  # noqa: PLC0415 takes 15 ms with X.509, and a start verifies no token

        issuer, key, algorithm = await self._find_signer(token)
        audience = issuer.audience_prefix + self._audience
        options: Any = {**_OPTIONS, "require": [*_REQUIRED, *issuer.subjects.required_claims]}
        try:
            claims = jwt.decode(token, key, [algorithm], options, audience=audience, issuer=issuer.iss)
        except jwt.MissingRequiredClaimError as error:
            raise Unauthenticated("invalid_token", f"the token lacks {error.claim}") from error
        except jwt.InvalidAudienceError as error:
            raise Unauthenticated("wrong_audience", f"the token is not for {audience}") from error
        except jwt.PyJWTError as error:
            raise Unauthenticated("invalid_token", "the token's signature or shape is wrong") from error
        return claims, issuer

    async def _find_signer(self, token: str) -> "tuple[Issuer, PyJWK, str]":
        """Return the issuer, key and algorithm that the token claims; only the signature confirms them."""
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
        key = await issuer.keys.find_key(kid) if isinstance(kid, str) else None
        if key is None or key.algorithm_name != algorithm:
            raise Unauthenticated("unknown_key", "the token's key is not the issuer's")
        return issuer, key, algorithm


def _check_times(claims: Mapping[str, Any], now: datetime) -> datetime:
    """Return when the token ends, with leeway. Raises `Unauthenticated` outside of its lifetime."""
    expires_at = _timestamp(claims, "exp") + LEEWAY
    if expires_at <= now:
        raise Unauthenticated("expired_token", "the token has expired")
    if any(_timestamp(claims, name) > now + LEEWAY for name in ("nbf", "iat") if name in claims):
        raise Unauthenticated("invalid_token", "the token is not valid yet")
    return expires_at


def _timestamp(claims: Mapping[str, Any], name: str) -> datetime:
    value = claims[name]
    if not is_finite_number(value) or not 0 <= value < _MAX_TIMESTAMP:
        raise Unauthenticated("invalid_token", f"{name} is not a timestamp")
    return datetime.fromtimestamp(value, UTC)

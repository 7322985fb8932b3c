"""Verifies bearer tokens: who signed, for whom, until when, and whether the signer may grant that role."""

from collections.abc import Mapping, Sequence
from typing import Any

import jwt
from jwt import PyJWK
from pydantic import TypeAdapter, ValidationError

from aex_models.audiences import Audience
from aex_models.frozen import Identifier
from aex_runtime.clock import Clock
from aex_runtime.errors import Unauthenticated
from aex_runtime.identity.issuers import Issuer
from aex_runtime.identity.principal import Principal

MAX_TOKEN_CHARS = 8_192
LEEWAY_S = 30
"""How far clocks may differ."""
_OPTIONS: Any = {
    "require": ["iss", "sub", "aud", "exp", "role"],
    "verify_exp": False,  # times are checked against the injected clock
    "verify_nbf": False,
    "verify_iat": False,
    "enforce_minimum_key_length": True,
}
_IDENTIFIER: TypeAdapter[str] = TypeAdapter(Identifier)


class TokenVerifier:
    """Verifies tokens for one service (`audience`)."""

    def __init__(self, issuers: Sequence[Issuer], audience: str, clock: Clock) -> None:
        self._issuers = {issuer.iss: issuer for issuer in issuers}
        if len(self._issuers) != len(issuers):
            raise ValueError("two issuers have the same iss")
        self._audience = audience
        self._clock = clock

    async def verify(self, token: str) -> Principal:
        """The principal that a token names. Raises `Unauthenticated`, or `TemporarilyUnavailable` without keys."""
        if len(token) > MAX_TOKEN_CHARS:
            raise Unauthenticated("invalid_token", "the token is too long")
        issuer, key, algorithm = await self._signer(token)
        try:
            claims = jwt.decode(
                token, key.key, algorithms=[algorithm], audience=self._audience, issuer=issuer.iss, options=_OPTIONS
            )
        except jwt.MissingRequiredClaimError as error:
            raise Unauthenticated("invalid_token", f"the token lacks {error.claim}") from error
        except jwt.InvalidAudienceError as error:
            raise Unauthenticated("wrong_audience", f"the token is not for {self._audience}") from error
        except jwt.PyJWTError as error:
            raise Unauthenticated("invalid_token", "the token's signature or shape is wrong") from error
        self._check_times(claims)
        return _principal(claims, issuer)

    async def _signer(self, token: str) -> tuple[Issuer, PyJWK, str]:
        """Who claims to have signed, with which key. Nothing of this is believed before the signature is checked."""
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

    def _check_times(self, claims: Mapping[str, Any]) -> None:
        now = self._clock.now().timestamp()
        if _moment(claims, "exp") <= now - LEEWAY_S:
            raise Unauthenticated("expired_token", "the token has expired")
        if any(_moment(claims, name) > now + LEEWAY_S for name in ("nbf", "iat") if name in claims):
            raise Unauthenticated("invalid_token", "the token is not valid yet")


def _moment(claims: Mapping[str, Any], name: str) -> float:
    value = claims[name]
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        raise Unauthenticated("invalid_token", f"{name} is not a moment")
    return float(value) if abs(value) < 1e12 else float("inf") * (1 if value > 0 else -1)


def _principal(claims: Mapping[str, Any], issuer: Issuer) -> Principal:
    role = claims["role"]
    if not isinstance(role, str) or role not in issuer.roles:
        raise Unauthenticated("role_not_granted", "the issuer may not grant this role")
    try:
        org = claims.get("org")
        return Principal(
            _IDENTIFIER.validate_python(claims["sub"], strict=True),
            Audience(role),
            None if org is None else _IDENTIFIER.validate_python(org, strict=True),
        )
    except ValidationError as error:
        raise Unauthenticated("invalid_token", "sub and org must be identifiers") from error

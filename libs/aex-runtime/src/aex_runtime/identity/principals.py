"""Principals, and how the claims of an issuer's tokens name them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from pydantic import TypeAdapter, ValidationError

from aex_models.audiences import Audience
from aex_models.frozen import Identifier
from aex_runtime.errors import Unauthenticated


@dataclass(frozen=True, slots=True)
class Principal:
    """Authenticated caller."""

    id: str
    role: Audience
    org: str | None = None
    expires_at: datetime | None = field(default=None, compare=False)
    """End of the token, leeway included; None without a verified token."""
    issuer: str = field(default="", compare=False)
    """Issuer of the token; empty without a verified token."""


class Subjects(Protocol):
    """Mapping of an issuer's verified claims to principals."""

    @property
    def required(self) -> tuple[str, ...]:
        """Required claims besides `iss`, `aud` and `exp`."""

    def principal(self, claims: Mapping[str, Any], iss: str, expires_at: datetime) -> Principal:
        """Return the principal. Raises `Unauthenticated` for one that the issuer may not name."""


_IDENTIFIER: TypeAdapter[str] = TypeAdapter(Identifier)


@dataclass(frozen=True, slots=True)
class ClaimedSubjects:
    """Principals named by `sub`, `role` and `org`, with a role of `roles`."""

    roles: frozenset[Audience]
    required: tuple[str, ...] = ("sub", "role")

    def principal(self, claims: Mapping[str, Any], iss: str, expires_at: datetime) -> Principal:
        role = claims["role"]
        if not isinstance(role, str) or role not in self.roles:
            raise Unauthenticated("role_not_granted", "the issuer may not grant this role")
        try:
            sub = _IDENTIFIER.validate_python(claims["sub"], strict=True)
            org = None if claims.get("org") is None else _IDENTIFIER.validate_python(claims["org"], strict=True)
        except ValidationError as error:
            raise Unauthenticated("invalid_token", "sub and org must be identifiers") from error
        return Principal(sub, Audience(role), org, expires_at, iss)


@dataclass(frozen=True, slots=True)
class GoogleSubjects:
    """Services named by the verified `email` of their account. `services`: e-mail → service."""

    services: Mapping[str, str]
    required: tuple[str, ...] = ("sub", "email", "email_verified")

    def principal(self, claims: Mapping[str, Any], iss: str, expires_at: datetime) -> Principal:
        if claims["email_verified"] is not True:
            raise Unauthenticated("unverified_account", "Google has not verified the token's e-mail address")
        email = claims["email"]
        service = self.services.get(email) if isinstance(email, str) else None
        if service is None:
            raise Unauthenticated("unknown_account", "the token's account is not one of this installation's services")
        return Principal(f"service:{service}", Audience.SERVICE, None, expires_at, iss)

"""Principals, and the rules by which the claims of a token name one."""

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
    """An authenticated caller."""

    id: str
    role: Audience
    org: str | None = None
    expires_at: datetime | None = field(default=None, compare=False)
    """End of the token, with the leeway; None if no token was verified."""
    issuer: str = field(default="", compare=False)
    """Issuer of the token; empty if no token was verified."""


class Subjects(Protocol):
    """The rule by which the claims of an issuer's tokens name a principal."""

    @property
    def required_claims(self) -> tuple[str, ...]:
        """Claims that a token must have besides `iss`, `aud` and `exp`."""

    def principal_of(self, claims: Mapping[str, Any], iss: str, expires_at: datetime) -> Principal:
        """Return the principal that verified claims name.

        Raises `Unauthenticated` for a principal that the issuer may not name.
        """


_IDENTIFIER: TypeAdapter[str] = TypeAdapter(Identifier)


@dataclass(frozen=True, slots=True)
class ClaimedSubjects:
    """The rule that the claims `sub`, `role` and `org` name the principal, with a role among `roles`."""

    roles: frozenset[Audience]
    required_claims: tuple[str, ...] = ("sub", "role")

    def principal_of(self, claims: Mapping[str, Any], iss: str, expires_at: datetime) -> Principal:
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
    """The rule that the verified `email` of an account names a service. `services` maps e-mail to service."""

    services: Mapping[str, str]
    required_claims: tuple[str, ...] = ("sub", "email", "email_verified")

    def principal_of(self, claims: Mapping[str, Any], iss: str, expires_at: datetime) -> Principal:
        if claims["email_verified"] is not True:
            raise Unauthenticated("unverified_account", "Google has not verified the token's e-mail address")
        email = claims["email"]
        service = self.services.get(email) if isinstance(email, str) else None
        if service is None:
            raise Unauthenticated("unknown_account", "the token's account is not one of this installation's services")
        return Principal(f"service:{service}", Audience.SERVICE, None, expires_at, iss)

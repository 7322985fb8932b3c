"""Tokens that say themselves who somebody is, in which role: the local issuer's, and those of `AEX_ISSUERS`."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import TypeAdapter, ValidationError

from aex_models.audiences import Audience
from aex_models.frozen import Identifier
from aex_runtime.errors import Unauthenticated
from aex_runtime.identity.principal import Principal

_IDENTIFIER: TypeAdapter[str] = TypeAdapter(Identifier)


@dataclass(frozen=True, slots=True)
class ClaimedSubjects:
    """`sub`, `role` and `org`, as the token has them; the role is one of `roles`."""

    roles: frozenset[Audience]
    required: tuple[str, ...] = ("sub", "role")

    def principal(self, claims: Mapping[str, Any], iss: str, expires_at: datetime) -> Principal:
        role = claims["role"]
        if not isinstance(role, str) or role not in self.roles:
            raise Unauthenticated("role_not_granted", "the issuer may not grant this role")
        try:
            org = claims.get("org")
            return Principal(
                _IDENTIFIER.validate_python(claims["sub"], strict=True),
                Audience(role),
                None if org is None else _IDENTIFIER.validate_python(org, strict=True),
                expires_at,
                iss,
            )
        except ValidationError as error:
            raise Unauthenticated("invalid_token", "sub and org must be identifiers") from error

"""Google's ID tokens of service accounts: each account is one service, and nobody else is anybody."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from aex_models.audiences import Audience
from aex_runtime.errors import Unauthenticated
from aex_runtime.identity.principal import Principal


@dataclass(frozen=True, slots=True)
class GoogleSubjects:
    """`email`, which Google has verified, of an account in `services` (e-mail address → name of the service)."""

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

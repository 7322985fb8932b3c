"""Whom the claims of an issuer's tokens name: the port."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Protocol

from aex_runtime.identity.principal import Principal


class Subjects(Protocol):
    """How an issuer's tokens name principals. Claims get here once signature, audience and times are found good."""

    @property
    def required(self) -> tuple[str, ...]:
        """The claims, beside `iss`, `aud` and `exp`, without which a token is refused."""
        ...

    def principal(self, claims: Mapping[str, Any], iss: str, expires_at: datetime) -> Principal:
        """Who it is. Raises `Unauthenticated` for whom the issuer may not name here."""
        ...

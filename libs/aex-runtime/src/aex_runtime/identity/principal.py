"""Who calls."""

from dataclasses import dataclass, field
from datetime import datetime

from aex_models.audiences import Audience


@dataclass(frozen=True, slots=True)
class Principal:
    """An authenticated caller. Roles and audiences are the same words."""

    id: str
    role: Audience
    org: str | None = None
    expires_at: datetime | None = field(default=None, compare=False)
    """When the token that says so is over, leeway included; None where none was verified."""
    issuer: str = field(default="", compare=False)
    """Who vouches for it; empty where no token was verified."""

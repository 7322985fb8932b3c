"""Who calls."""

from dataclasses import dataclass

from aex_models.audiences import Audience


@dataclass(frozen=True, slots=True)
class Principal:
    """An authenticated caller. Roles and audiences are the same words."""

    id: str
    role: Audience
    org: str | None = None

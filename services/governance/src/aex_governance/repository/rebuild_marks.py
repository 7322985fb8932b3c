"""How far a rebuild has read each log: moved in the transaction that folds what lies behind it."""

from aex_models.frozen import Frozen
from aex_runtime.store.port import Collection
from aex_runtime.store.table import Table


class RebuildMark(Frozen):
    """Where a rebuild stands in one log, which it reads by key. What is appended meanwhile counts itself."""

    after: str | None = None
    """The key of the last record that was read."""
    read: int = 0
    folded: int = 0
    """Records that were folded; the others had counted themselves."""
    is_at_end: bool = False


REBUILD_MARKS = Table(Collection("governance-rebuild-marks"), RebuildMark)


def mark_key(generation: int, log: str) -> str:
    """The key of the mark in a log, for the generation that is being made."""
    return f"{generation}-{log}"

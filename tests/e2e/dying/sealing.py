"""The commits of the sealer at which settlement can be made to die."""

from collections.abc import Sequence
from enum import StrEnum

from aex_runtime.store.port import Write
from aex_settlement.repository.journal import BATCHES
from aex_settlement.repository.projections import STATES
from aex_settlement.rules.projections import Projection
from tests.e2e.dying.deaths import ANY_SUBJECT


class Sealing(StrEnum):
    """Each has a moment before and one after."""

    SEAL = "seal"
    """A batch with transactions in it."""
    ACCOUNTS = "project-accounts"
    """Batches go into balances, sheets and days."""
    ROLLUPS = "project-rollups"
    """Batches go into the breakdown's sums."""


_PROJECTING = {Projection.ACCOUNTS.value: Sealing.ACCOUNTS, Projection.ROLLUPS.value: Sealing.ROLLUPS}


def sealing_step(writes: Sequence[Write]) -> tuple[str, str] | None:
    """Return the step of a commit of settlement; the first batch, which is empty, has none."""
    for each in writes:
        if each.collection == BATCHES.collection:
            return (Sealing.SEAL, ANY_SUBJECT) if len(writes) > 2 else None
        if each.collection == STATES.collection:
            # The watermark alone: an empty batch.
            return (_PROJECTING[each.key], ANY_SUBJECT) if len(writes) > 1 else None
    return None

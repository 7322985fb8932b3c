"""The dependencies of every handler."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from aex_outcomes.submission import Checked
from aex_runtime.blobs.port import Blobs
from aex_runtime.ids import Ids
from aex_runtime.quotas import UNBOUNDED, StorageBounds
from aex_runtime.store.port import Store
from aex_runtime.unit_of_work import UnitOfWork


@dataclass(frozen=True, slots=True)
class Deps:
    """The service's collaborators, all injected."""

    unit_of_work: UnitOfWork
    store: Store
    blobs: Blobs
    ids: Ids
    check: Callable[[Any], Checked]
    """Function from a submission to its problems, its warnings and its price quote."""
    fee_rate: Decimal
    """The platform's share, frozen into the terms of each award."""
    bounds: StorageBounds = UNBOUNDED

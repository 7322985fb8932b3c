"""Collaborators of the handlers, such as store and ids, which each handler receives as `deps`."""

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
    """Collaborators of the handlers: store, blobs, check of submissions, and others."""

    unit_of_work: UnitOfWork
    store: Store
    blobs: Blobs
    ids: Ids
    check: Callable[[Any], Checked]
    """Function that checks a parsed submission; it returns problems, warnings and a price quote."""
    fee_rate: Decimal
    """Platform's share of the price, in [0, 1]. It is copied into the terms of each award."""
    bounds: StorageBounds = UNBOUNDED

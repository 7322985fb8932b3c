"""Rebuilds of governance's projections from the log, in a generation of their own."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import structlog

from aex_governance.handlers.fold_log import FoldLog, Rebuilder
from aex_governance.repository import (
    HEAD,
    HEAD_KEY,
    REBUILD_MARKS,
    TABLES,
    ProjectionHead,
    RebuildMark,
    mark_key,
    read_head,
    stale_keys,
)
from aex_runtime.generations import LEASE, RebuildLease, acquire_rebuild_lease, build_generation
from aex_runtime.leases import LeaseLost
from aex_runtime.store.port import Transaction

_SERVICE = "governance"
_log = structlog.get_logger("aex_governance.rebuild")


@dataclass(frozen=True, slots=True)
class RebuiltProjections:
    """The result of a rebuild."""

    generation: int
    logs: Mapping[str, RebuildMark]
    """Progress in each log, with that of killed rebuilds of this generation."""
    resumed: bool
    """True if an earlier rebuild had begun this generation."""
    removed: int = 0
    """Documents of generations that are no longer read."""


async def rebuild_projections(rebuilder: Rebuilder) -> RebuiltProjections:
    """Rebuild the projections; readers keep the old generation until the new one is complete.

    Validations and outcomes logged meanwhile count themselves in both. A killed rebuild is resumed. Raises `Conflict`
    (`rebuild_under_way`) when another rebuild holds the lease, `LeaseLost` and `StoreUnavailable`.
    """
    async with acquire_rebuild_lease(_SERVICE, rebuilder.store, rebuilder.clock, rebuilder.ids) as lease:
        generation, removed = await build_generation(_ProjectionsBuild(rebuilder, lease))
    rebuilt = replace(generation, removed=removed)
    read = {name: mark.read for name, mark in rebuilt.logs.items()}
    figures = {"generation": rebuilt.generation, "resumed": rebuilt.resumed, "removed": rebuilt.removed}
    _log.info("projections_rebuilt", **figures, **read)
    return rebuilt


@dataclass(frozen=True, slots=True)
class _ProjectionsBuild:
    rebuilder: Rebuilder
    lease: RebuildLease

    async def delete_stale_generations(self) -> int:
        store = self.rebuilder.store
        head = await read_head(store)
        removed = 0
        for table in TABLES.values():
            removed += await self.lease.delete_documents(table.collection, stale_keys(store, table, head.generations))
        if removed:
            _log.info("generations_removed", kept=head.generations, documents=removed)
        return removed

    async def begin(self) -> RebuiltProjections:
        """Begin a generation, or find the one begun before.

        From this commit on every log entry is counted in it by its writer: before there is a mark in any log.
        """
        resumed = (await read_head(self.rebuilder.store)).building is not None

        async def write(transaction: Transaction) -> int:
            head = await read_head(transaction)
            if head.building is not None:
                return head.building
            building = head.reading + 1
            _put_head(transaction, ProjectionHead(reading=head.reading, building=building))
            return building

        return RebuiltProjections(await self.lease.transact(write), {}, resumed)

    async def fill(self, rebuilt: RebuiltProjections) -> RebuiltProjections:
        folds = {name: FoldLog(self.rebuilder, self.lease, rebuilt.generation, name) for name in FoldLog.TABLES}
        return replace(rebuilt, logs={name: await fold.run() for name, fold in folds.items()})

    async def switch(self, rebuilt: RebuiltProjections) -> RebuiltProjections:
        """Let readers read the generation. Raises `LeaseLost` when another rebuild came in between."""

        async def write(transaction: Transaction) -> None:
            head = await read_head(transaction)
            if head.building is None and head.reading == rebuilt.generation:
                return  # an earlier attempt committed, and its answer was lost
            if head.building != rebuilt.generation:
                raise LeaseLost(LEASE)
            _put_head(transaction, ProjectionHead(reading=rebuilt.generation))
            for name in rebuilt.logs:
                transaction.delete(REBUILD_MARKS.collection, mark_key(rebuilt.generation, name))

        await self.lease.transact(write)
        return rebuilt


def _put_head(transaction: Transaction, head: ProjectionHead) -> None:
    transaction.put(HEAD.collection, HEAD_KEY, *HEAD.encode(head))

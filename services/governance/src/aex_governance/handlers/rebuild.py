"""Rebuild of governance's projections from the log, as a new generation beside the one that is read."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import structlog

from aex_governance.handlers.fold_log import LogFold, Rebuilder
from aex_governance.repository import (
    GENERATIONS,
    GENERATIONS_KEY,
    REBUILD_MARKS,
    TABLES,
    ProjectionGenerations,
    RebuildMark,
    read_projection_generations,
    rebuild_mark_key,
    stale_keys,
)
from aex_runtime.generations import LEASE, RebuildLease, acquire_rebuild_lease, build_and_switch_to_generation
from aex_runtime.leases import LeaseLost
from aex_runtime.store.port import Transaction

_SERVICE = "governance"
_log = structlog.get_logger("aex_governance.rebuild")


@dataclass(frozen=True, slots=True)
class RebuiltProjections:
    """Result of a rebuild."""

    generation: int
    logs: Mapping[str, RebuildMark]
    """Records read and added, by log, including those of earlier, killed attempts at this generation."""
    resumed: bool
    """True if an earlier rebuild had begun this generation."""
    removed: int = 0
    """Number of documents deleted because their generations are no longer read."""


async def rebuild_projections(rebuilder: Rebuilder) -> RebuiltProjections:
    """Rebuild the projections; readers use the old generation until the new one is complete.

    A killed rebuild is resumed. Records that are logged during the rebuild are added to both generations by their
    writers. Raises `Conflict` (`rebuild_under_way`) when another rebuild holds the lease, `LeaseLost` and
    `StoreUnavailable`.
    """
    async with acquire_rebuild_lease(_SERVICE, rebuilder.store, rebuilder.clock, rebuilder.ids) as lease:
        generation, removed = await build_and_switch_to_generation(_ProjectionsBuild(rebuilder, lease))
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
        generations = await read_projection_generations(store)
        removed = 0
        for table in TABLES.values():
            removed += await self.lease.delete_documents_by_page(
                table.collection, stale_keys(store, table, generations.in_use)
            )
        if removed:
            _log.info("generations_removed", kept=generations.in_use, documents=removed)
        return removed

    async def begin_or_resume_generation(self) -> RebuiltProjections:
        """Begin a new generation, or continue the one that an earlier rebuild began.

        From this commit on each writer of the log also adds its record to the new generation.
        """
        resumed = (await read_projection_generations(self.rebuilder.store)).building is not None

        async def write(transaction: Transaction) -> int:
            generations = await read_projection_generations(transaction)
            if generations.building is not None:
                return generations.building
            building = generations.reading + 1
            _put_generations(transaction, ProjectionGenerations(reading=generations.reading, building=building))
            return building

        return RebuiltProjections(await self.lease.transact_under_lease(write), {}, resumed)

    async def write_documents(self, rebuilt: RebuiltProjections) -> RebuiltProjections:
        folds = {name: LogFold(self.rebuilder, self.lease, rebuilt.generation, name) for name in LogFold.TABLES}
        return replace(rebuilt, logs={name: await fold.fold_remaining_records() for name, fold in folds.items()})

    async def switch_readers_to(self, rebuilt: RebuiltProjections) -> RebuiltProjections:
        """Make readers use the new generation, and delete the marks of this rebuild.

        Raises `LeaseLost` when another rebuild has replaced the generation meanwhile.
        """

        async def write(transaction: Transaction) -> None:
            generations = await read_projection_generations(transaction)
            if generations.building is None and generations.reading == rebuilt.generation:
                return  # an earlier attempt committed, and its answer was lost
            if generations.building != rebuilt.generation:
                raise LeaseLost(LEASE)
            _put_generations(transaction, ProjectionGenerations(reading=rebuilt.generation))
            for name in rebuilt.logs:
                transaction.delete(REBUILD_MARKS.collection, rebuild_mark_key(rebuilt.generation, name))

        await self.lease.transact_under_lease(write)
        return rebuilt


def _put_generations(transaction: Transaction, generations: ProjectionGenerations) -> None:
    transaction.put(GENERATIONS.collection, GENERATIONS_KEY, *GENERATIONS.encode(generations))

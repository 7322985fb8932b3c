"""RebuildProjections: all that the rules remember, made anew from the log beside what is read, then in its place."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import structlog

from aex_governance.handlers.rebuild.discard_generations import discard_unread
from aex_governance.handlers.rebuild.fold_log import FoldLog
from aex_governance.handlers.rebuild.rebuilder import Rebuild, Rebuilder
from aex_governance.repository.log import OUTCOMES, VALIDATIONS
from aex_governance.repository.projections import HEAD, HEAD_KEY, ProjectionHead, read_head
from aex_governance.repository.rebuild_marks import REBUILD_MARKS, RebuildMark, mark_key
from aex_runtime.errors import Conflict
from aex_runtime.held_lease import HeldLease
from aex_runtime.leases import LeaseLost, Leases
from aex_runtime.store.port import Transaction
from aex_runtime.store.table import Table

LEASE = "rebuild"
LOGS: Mapping[str, Table[Any]] = {"validations": VALIDATIONS, "outcomes": OUTCOMES}
_SERVICE = "governance"
_TTL = timedelta(seconds=30)
_log = structlog.get_logger("aex_governance.rebuild_projections")


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """The projections that were made anew."""

    generation: int
    logs: Mapping[str, RebuildMark]
    """What was read of each log, also by those that were killed before."""
    resumed: bool
    """Whether another had begun it."""
    removed: int
    """Documents of generations that are not read any more."""


async def rebuild_projections(by: Rebuilder) -> Rebuilt:
    """Make the projections anew. What is there is read until the new is complete, whatever happens meanwhile.

    Validations and outcomes may come: they count themselves in both. One that was killed is gone on with. Raises
    `Conflict` (`rebuild_under_way`) where another holds the lease, `LeaseLost` and `StoreUnavailable`.
    """
    leases = Leases(_SERVICE, by.store, by.clock, holder=by.ids.new("rebuild"))
    lease = await leases.acquire(LEASE, _TTL)
    if lease is None:
        wait_s = int(_TTL.total_seconds()) + 2
        raise Conflict(
            "rebuild_under_way",
            f"another rebuild is under way; where it was killed, this one can begin {wait_s} s after its end",
            retry_after_s=wait_s,
        )
    held = HeldLease(leases, lease, by.clock)
    try:
        return await _rebuilt(Rebuild(by, held))
    finally:
        await held.release()


async def _rebuilt(rebuild: Rebuild) -> Rebuilt:
    removed = await discard_unread(rebuild)
    generation, resumed = await _begun(rebuild)
    logs = {name: await FoldLog(rebuild, generation, name, table).run() for name, table in LOGS.items()}
    await _switched(rebuild, generation)
    removed += await discard_unread(rebuild)
    read = {name: mark.read for name, mark in logs.items()}
    _log.info("projections_rebuilt", generation=generation, resumed=resumed, removed=removed, **read)
    return Rebuilt(generation, logs, resumed, removed)


async def _begun(rebuild: Rebuild) -> tuple[int, bool]:
    """The generation that is being made, and whether it was begun before.

    From this commit on whoever writes to the log writes to it too: before there is a mark in any log.
    """
    resumed = (await read_head(rebuild.by.store)).building is not None

    async def write(transaction: Transaction) -> int:
        await rebuild.held.guard(transaction)
        head = await read_head(transaction)
        if head.building is not None:
            return head.building
        building = head.reading + 1
        _put(transaction, ProjectionHead(reading=head.reading, building=building))
        return building

    return await rebuild.by.store.transact(write), resumed


async def _switched(rebuild: Rebuild, generation: int) -> None:
    """Have it read from now on. Raises `LeaseLost` where another rebuild came in between."""
    await rebuild.held.renewed()

    async def write(transaction: Transaction) -> None:
        await rebuild.held.guard(transaction)
        head = await read_head(transaction)
        if head.building is None and head.reading == generation:
            return  # this was written before, and its answer was lost
        if head.building != generation:
            raise LeaseLost(LEASE)
        _put(transaction, ProjectionHead(reading=generation))
        for name in LOGS:
            transaction.delete(REBUILD_MARKS.collection, mark_key(generation, name))

    await rebuild.by.store.transact(write)


def _put(transaction: Transaction, head: ProjectionHead) -> None:
    transaction.put(HEAD.collection, HEAD_KEY, *HEAD.encode(head))

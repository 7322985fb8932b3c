"""RebuildProjections: a projection made anew from the journal, beside the one that is read, and then in its place."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta

import structlog

from aex_runtime.errors import Conflict
from aex_runtime.held_lease import HeldLease
from aex_runtime.leases import Leases
from aex_runtime.store.port import Transaction
from aex_settlement.deps import Deps
from aex_settlement.handlers.journal.discard_generations import discard_unread
from aex_settlement.handlers.journal.races import Lost, again
from aex_settlement.handlers.journal.read_sealed import SealedPages
from aex_settlement.handlers.journal.watermarks import Watermark, advance
from aex_settlement.repository.journal import read_head
from aex_settlement.repository.projections import GENERATIONS, STATES, building_key, read_state
from aex_settlement.rules.broken import UnreadableRecord
from aex_settlement.rules.projected import Generation, Projection, ProjectionState

LEASE = "rebuild"
_TTL = timedelta(seconds=30)
Progress = Callable[[int, int], None]
"""Batches applied, and batches to apply in all; both over all the projections that are rebuilt."""
_log = structlog.get_logger("aex_settlement.rebuild_projections")


@dataclass(frozen=True, slots=True)
class Rebuilt:
    """A projection that was made anew."""

    projection: Projection
    generation: str
    seq: int
    """The last batch that it had applied when it was put in place."""
    removed: int
    """Documents of generations that are not read any more."""


async def rebuild(deps: Deps, projections: Sequence[Projection], progress: Progress) -> tuple[Rebuilt, ...]:
    """Make each projection anew. Its readers keep the old one until it is there, whatever happens meanwhile.

    The sealer may go on. Raises `Conflict` (`rebuild_under_way`) where another rebuild holds the lease,
    `BrokenJournal` where the journal is not what was sealed, `LeaseLost`, and `StoreUnavailable`: then the old
    generation is still read, and the next rebuild removes what this one has begun.
    """
    service = deps.unit_of_work.service
    leases = Leases(service, deps.store, deps.clock, holder=deps.ids.new("rebuild"))
    lease = await leases.acquire(LEASE, _TTL)
    if lease is None:
        wait_s = int(_TTL.total_seconds()) + 2
        raise Conflict(
            "rebuild_under_way",
            f"another rebuild is under way; where it was killed, this one can begin {wait_s} s after its end",
            retry_after_s=wait_s,
        )
    held = HeldLease(leases, lease, deps.clock)
    try:
        head = await read_head(deps.store)
        steps = _Steps(progress, len(projections) * (head.record.seq if head else 0))
        return tuple([await _Rebuild(deps, held, each, steps).run() for each in projections])
    finally:
        await held.release()


@dataclass(slots=True)
class _Steps:
    """Tells how far all of it is. What is sealed meanwhile makes the whole longer."""

    progress: Progress
    total: int
    done: int = 0

    def went(self, batches: int) -> None:
        self.done += batches
        self.total = max(self.total, self.done)
        self.progress(self.done, self.total)


@dataclass(slots=True)
class _Rebuild:
    """The rebuild of one projection."""

    deps: Deps
    held: HeldLease
    projection: Projection
    steps: _Steps

    async def run(self) -> Rebuilt:
        removed = await discard_unread(self.deps, self.projection, self.held)
        mark = await self._begun()
        mark = await self._switched(mark)
        removed += await discard_unread(self.deps, self.projection, self.held)
        _log.info(
            "projection_rebuilt",
            projection=self.projection.value,
            generation=mark.state.generation,
            seq=mark.seq,
            removed=removed,
        )
        return Rebuilt(self.projection, mark.state.generation, mark.seq, removed)

    async def _begun(self) -> Watermark:
        """A new generation, listed before anything of it is written, so that it is found if we end here."""
        generation = self.deps.ids.new("gen")
        state = ProjectionState(projection=self.projection, generation=generation, seq=0)
        key = building_key(self.projection, generation)
        listed = Generation(projection=self.projection, generation=generation, begun_at=self.deps.clock.now())

        async def write(transaction: Transaction) -> None:
            await self.held.guard(transaction)
            transaction.create(GENERATIONS.collection, generation, *GENERATIONS.encode(listed))
            transaction.create(STATES.collection, key, *STATES.encode(state))

        await self.deps.store.transact(write)
        return Watermark(key, state, stored=True)

    async def _switched(self, mark: Watermark) -> Watermark:
        """Catch up with the one that is read, and take its place. The sealer goes on meanwhile: perhaps anew."""

        async def attempt() -> None:
            nonlocal mark
            mark = await self._caught_up(mark)
            await self._switch(mark)

        await again(self.deps, "rebuild_overtaken", attempt)
        return mark

    async def _caught_up(self, mark: Watermark) -> Watermark:
        """All that is sealed, applied."""
        reader = SealedPages(self.deps.store)
        while pages := await reader.after(mark.seq):
            await self.held.renewed()
            before = mark.seq
            mark = await advance(self.deps, mark, pages, self.held.guard)
            reader.forget(mark.seq)
            self.steps.went(mark.seq - before)
        return mark

    async def _switch(self, mark: Watermark) -> None:
        """Raises `Lost` where the projection that is read is further by now: answers never go back."""

        async def write(transaction: Transaction) -> bool:
            await self.held.guard(transaction)
            read = await _state_read(transaction, self.projection)
            if read is not None and read.seq > mark.seq:
                return False
            if read is not None:
                old = read.generation
                listed = Generation(projection=self.projection, generation=old, begun_at=self.deps.clock.now())
                transaction.put(GENERATIONS.collection, old, *GENERATIONS.encode(listed))
            transaction.put(STATES.collection, self.projection.value, *STATES.encode(mark.state))
            transaction.delete(STATES.collection, mark.key)
            return True

        if not await self.deps.store.transact(write):
            raise Lost(f"{self.projection.value} went on beyond {mark.seq}")


async def _state_read(transaction: Transaction, projection: Projection) -> ProjectionState | None:
    """The state that readers go by; None also where it cannot be read, which this rebuild then mends."""
    try:
        stored = await read_state(transaction, projection)
    except UnreadableRecord as unreadable:
        _log.warning("state_unreadable", projection=projection.value, reason=str(unreadable))
        return None
    return stored.record if stored else None

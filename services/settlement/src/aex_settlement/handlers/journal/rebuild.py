"""Rebuilds of settlement's projections from the journal, each as a new generation."""

from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass

import structlog

from aex_runtime.generations import DELETE_PAGE, RebuildLease, acquire_rebuild_lease, build_and_switch_to_generation
from aex_runtime.store.port import Query, Store, Transaction
from aex_runtime.store.table import Reader
from aex_settlement.deps import Deps
from aex_settlement.handlers.journal.concurrency import ConcurrentUpdate, retry_on_conflict
from aex_settlement.handlers.journal.project import JournalReader, Watermark, apply_batches_that_fit_one_transaction
from aex_settlement.repository.journal import read_journal_head
from aex_settlement.repository.pages import iterate_pages
from aex_settlement.repository.projections import (
    GENERATIONS,
    STATES,
    TABLES,
    building_watermark_key,
    read_projection_state,
)
from aex_settlement.rules.journal import UnreadableRecord
from aex_settlement.rules.projections import Generation, Projection, ProjectionState

_GENERATIONS = 100
"""Generations listed at once; there are two or three."""
_log = structlog.get_logger("aex_settlement.rebuild")
Progress = Callable[[int, int], None]
"""Progress callback: batches applied and batches to apply, over all projections that are rebuilt."""


@dataclass(frozen=True, slots=True)
class RebuiltProjection:
    """Result of one projection's rebuild."""

    projection: Projection
    generation: str
    seq: int
    """Last batch that the new generation had applied when readers were switched to it."""
    removed: int
    """Number of documents deleted because their generations are no longer read."""


async def rebuild_ledger_projections(
    deps: Deps, projections: Sequence[Projection], progress: Progress
) -> tuple[RebuiltProjection, ...]:
    """Rebuild the projections; readers use the old generation until the new one is complete.

    Sealing may continue. After a failure the old generation stays in use, and the next rebuild deletes the new one.
    Raises:
    - `Conflict` (`rebuild_under_way`) when another rebuild holds the lease;
    - `BrokenJournal` when the journal is damaged;
    - `LeaseLost`, `StoreUnavailable`.
    """
    async with acquire_rebuild_lease(deps.unit_of_work.service, deps.store, deps.clock, deps.ids) as lease:
        head = await read_journal_head(deps.store)
        total, done = len(projections) * (head.seq if head else 0), 0

        def report_applied(batches: int) -> None:
            nonlocal done
            done += batches
            progress(done, max(done, total))  # batches that are sealed meanwhile raise the total

        results: list[RebuiltProjection] = []
        for each in projections:
            generation, removed = await build_and_switch_to_generation(
                _ProjectionBuild(deps, each, lease, report_applied)
            )
            state = generation.state
            result = RebuiltProjection(each, state.generation, state.seq, removed)
            _log.info("projection_rebuilt", **asdict(result))
            results.append(result)
        return tuple(results)


@dataclass(slots=True)
class _ProjectionBuild:
    deps: Deps
    projection: Projection
    lease: RebuildLease
    report_applied: Callable[[int], None]

    async def delete_stale_generations(self) -> int:
        """Delete all generations that are not read, and return the number of documents deleted.

        A generation stays listed until it is deleted completely, so that the next rebuild can finish a killed
        deletion.
        """
        removed = 0
        while True:
            query = Query(GENERATIONS.collection, {"projection": self.projection.value}, limit=_GENERATIONS)
            listed = [document.key for document in await self.deps.store.query_page(query)]  # the key is the generation
            current = await _current_state(self.deps.store, self.projection)
            stale = [generation for generation in listed if current is None or generation != current.generation]
            for generation in stale:
                removed += await _delete_generation(self.projection, generation, self.lease)
            if len(listed) < _GENERATIONS or not stale:
                return removed

    async def begin_or_resume_generation(self) -> Watermark:
        generation = self.deps.ids.new("gen")
        state = ProjectionState(projection=self.projection, generation=generation, seq=0)
        key = building_watermark_key(self.projection, generation)

        async def write(transaction: Transaction) -> None:
            listed = self._new_generation(generation)
            transaction.create(GENERATIONS.collection, generation, *GENERATIONS.encode(listed))
            transaction.create(STATES.collection, key, *STATES.encode(state))

        await self.lease.transact_under_lease(write)
        return Watermark(key, state, stored=True)

    async def write_documents(self, generation: Watermark) -> Watermark:
        """Apply all sealed batches to the new generation."""
        reader = JournalReader(self.deps.store)
        while batches := await reader.read_some_batches_after(generation.state.seq):
            await self.lease.handle.renew_if_due()
            before = generation.state.seq
            generation = await apply_batches_that_fit_one_transaction(
                self.deps, generation, batches, self.lease.handle.require_lease
            )
            reader.drop_cached_up_to(generation.state.seq)
            self.report_applied(generation.state.seq - before)
        return generation

    async def switch_readers_to(self, generation: Watermark) -> Watermark:
        """Apply the batches sealed meanwhile, and make readers use the new generation."""

        async def attempt() -> None:
            nonlocal generation
            generation = await self.write_documents(generation)
            await self._switch(generation)

        await retry_on_conflict(self.deps, "rebuild_conflicted", attempt)
        return generation

    async def _switch(self, built: Watermark) -> None:
        """Replace the current generation.

        Raises `ConcurrentUpdate` if the current generation has applied more batches, because answers must not go back
        in time.
        """

        async def write(transaction: Transaction) -> bool:
            current = await _current_state(transaction, self.projection)
            if current is not None and current.seq > built.state.seq:
                return False
            if current is not None:
                listed = GENERATIONS.encode(self._new_generation(current.generation))
                transaction.put(GENERATIONS.collection, current.generation, *listed)
            transaction.put(STATES.collection, self.projection.value, *STATES.encode(built.state))
            transaction.delete(STATES.collection, built.key)
            return True

        if not await self.lease.transact_under_lease(write):
            raise ConcurrentUpdate(f"{self.projection.value} went on beyond {built.state.seq}")

    def _new_generation(self, generation: str) -> Generation:
        return Generation(projection=self.projection, generation=generation, begun_at=self.deps.clock.now())


async def _delete_generation(projection: Projection, generation: str, lease: RebuildLease) -> int:
    removed = 0
    for table in TABLES[projection]:
        query = Query(table.collection, {"generation": generation}, limit=DELETE_PAGE)
        removed += await lease.delete_documents_by_page(table.collection, _key_pages(lease.store, query))

    async def remove_listing(transaction: Transaction) -> None:
        transaction.delete(STATES.collection, building_watermark_key(projection, generation))
        transaction.delete(GENERATIONS.collection, generation)

    await lease.transact_under_lease(remove_listing)
    _log.info("generation_removed", projection=projection.value, generation=generation, documents=removed)
    return removed


async def _key_pages(store: Store, query: Query) -> AsyncGenerator[list[str], None]:
    # Each page begins behind the one before: from the beginning, Firestore would scan the deleted documents.
    async with aclosing(iterate_pages(store, query)) as pages:
        async for page in pages:
            yield [document.key for document in page]


async def _current_state(reader: Reader, projection: Projection) -> ProjectionState | None:
    """Return the state of the generation that is read; None if there is none or it cannot be read."""
    try:
        return await read_projection_state(reader, projection)
    except UnreadableRecord as unreadable:
        _log.warning("state_unreadable", projection=projection.value, reason=str(unreadable))
        return None

"""How far each projection is: its watermark moves in the transaction that applies what lies behind it."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from aex_runtime.store.port import Transaction
from aex_settlement.deps import Deps
from aex_settlement.handlers.journal.drafts import DRAFTS, Draft
from aex_settlement.handlers.journal.guards import Guard
from aex_settlement.handlers.journal.races import Lost
from aex_settlement.repository.projections import STATES, read_state
from aex_settlement.rules.account_books import Page
from aex_settlement.rules.projected import Projection, ProjectionState

_log = structlog.get_logger("aex_settlement.watermarks")


@dataclass(frozen=True, slots=True)
class Watermark:
    """A projection's state as it was last seen, and where it is kept."""

    key: str
    state: ProjectionState
    stored: bool
    """False before the first batch is applied."""

    @property
    def seq(self) -> int:
        """The last batch that is applied."""
        return self.state.seq


async def read_watermark(deps: Deps, projection: Projection) -> Watermark:
    """That of the generation which is read, or of the first one, which is about to begin."""
    stored = await read_state(deps.store, projection)
    if stored is not None:
        return Watermark(projection.value, stored.record, stored=True)
    first = ProjectionState(projection=projection, generation=deps.ids.new("gen"), seq=0)
    return Watermark(projection.value, first, stored=False)


async def advance(deps: Deps, mark: Watermark, pages: Sequence[Page], guard: Guard) -> Watermark:
    """Apply as many of the pages, which follow the watermark, as fit into one transaction; how far it is then.

    Exactly once: nothing is written unless the watermark is still where `mark` says. Raises `Lost` where it is not.
    """
    draft, taken = await _filled(DRAFTS[mark.state.projection](), pages)
    last = pages[taken - 1].batch
    moved = mark.state.model_copy(update={"seq": last.seq, "sealed_at": last.sealed_at})

    async def write(transaction: Transaction) -> bool:
        await guard(transaction)
        stored = await STATES.get(transaction, mark.key)
        if (stored.record if stored else None) != (mark.state if mark.stored else None):
            return False
        # Read beside the transaction, in one go: whoever changes these documents moves the watermark with them.
        for document in await draft.documents(deps.store, mark.state.generation):
            transaction.put(*document)
        transaction.put(STATES.collection, mark.key, *STATES.encode(moved))
        return True

    if not await deps.store.transact(write):
        raise Lost(f"{mark.key} is no longer at {mark.seq}")
    _log.debug("journal_projected", projection=mark.key, generation=moved.generation, seq=moved.seq, batches=taken)
    return Watermark(mark.key, moved, stored=True)


async def _filled(draft: Draft, pages: Sequence[Page]) -> tuple[Draft, int]:
    """The draft with as many of the pages as it takes, and how many those are."""
    for taken, page in enumerate(pages):
        if not draft.take(page):
            return draft, taken
        await asyncio.sleep(0)  # summing up a batch takes a few milliseconds
    return draft, len(pages)

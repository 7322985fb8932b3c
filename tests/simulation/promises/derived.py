"""Projections equal journal and log: at rest, after commits to them, and before a rebuild."""

from collections.abc import Set
from itertools import chain
from typing import TYPE_CHECKING, Any

from aex_governance.repository import GENERATIONS, OUTCOMES, VALIDATIONS
from aex_governance.repository import TABLES as MEMORY
from aex_runtime.store.table import Table
from aex_settlement.repository.journal import BATCHES
from aex_settlement.repository.projections import STATES
from aex_settlement.repository.projections import TABLES as BOOKS
from tests.services.governance.rebuild.recount import check_read
from tests.services.settlement.journal.recount import check_projections
from tests.services.settlement.journal.wholeness import Journal, checked_journal
from tests.simulation.promises.promise import require_promise

if TYPE_CHECKING:
    from tests.simulation.world import World

_OF_BOOKS: tuple[Table[Any], ...] = (BATCHES, STATES, *chain.from_iterable(BOOKS.values()))
_OF_MEMORY: tuple[Table[Any], ...] = (VALIDATIONS, OUTCOMES, GENERATIONS, *MEMORY.values())
_BOOKS = frozenset(table.collection.name for table in _OF_BOOKS)
_MEMORY = frozenset(table.collection.name for table in _OF_MEMORY)


async def check_touched_projections(world: "World", touched: Set[str]) -> None:
    """Check the projections that the commits to these collections may have damaged."""
    if touched & _BOOKS:
        await check_settlement_projections(world)
    if touched & _MEMORY:
        await check_governance_projections(world)


async def check_governance_projections(world: "World") -> None:
    """Check that governance's projections equal its log."""
    with world.suite.environment.pauses.without_interleaving():
        await check_read(world.suite.governance.memory)


async def check_settlement_projections(world: "World", *, at_head: bool = False) -> Journal:
    """Check that the journal is complete and unaltered, and that settlement's projections equal it.

    Returns the journal.
    """
    store, seen = world.suite.settlement.memory, world.seen.hashes
    with world.suite.environment.pauses.without_interleaving():
        journal = await checked_journal(store)
        await check_projections(store, journal, at_head=at_head)
    for batch in journal.batches:
        kept = seen.setdefault(batch.seq, batch.hash) == batch.hash
        require_promise(kept, "the journal is never altered", f"batch {batch.seq} was sealed twice")
    return journal

"""ProjectJournal: what was sealed goes into each projection exactly once."""

from dataclasses import dataclass

from aex_settlement.deps import Deps
from aex_settlement.handlers.journal.guards import Guard, unguarded
from aex_settlement.handlers.journal.races import again
from aex_settlement.handlers.journal.read_sealed import SealedPages
from aex_settlement.handlers.journal.watermarks import advance, read_watermark
from aex_settlement.rules.projected import Projection


async def project_sealed(deps: Deps, guard: Guard = unguarded, pages: SealedPages | None = None) -> int:
    """Apply what is sealed until both projections are at the head; how many batches the one behind was short of.

    Raises `StoreUnavailable`, `BrokenJournal` (nothing of the broken batch is applied), and what `guard` raises.
    """
    run = _Run(deps, guard, pages or SealedPages(deps.store))
    await again(deps, "projection_moved", run.to_the_head)
    return run.applied


@dataclass(slots=True)
class _Run:
    deps: Deps
    guard: Guard
    pages: SealedPages
    """Read once for both."""
    applied: int = 0

    async def to_the_head(self) -> None:
        """Raises `Lost` where another process moved a projection."""
        marks = [await read_watermark(self.deps, each) for each in Projection]
        while True:
            least = min(each.seq for each in marks)
            pages = await self.pages.after(least)
            if not pages:
                return
            marks = [await advance(self.deps, each, pages, self.guard) if each.seq == least else each for each in marks]
            done = min(each.seq for each in marks)
            self.pages.forget(done)
            self.applied += done - least

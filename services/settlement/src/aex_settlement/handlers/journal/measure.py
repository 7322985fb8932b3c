"""Questions about the journal's own state, for who watches the service."""

from collections.abc import Sequence

from aex_runtime.store.port import Bound
from aex_settlement.deps import Deps
from aex_settlement.repository.journal import read_head, waiting_page
from aex_settlement.repository.projections import read_state
from aex_settlement.rules.projected import Projection


async def oldest_unsealed_s(deps: Deps, bounds: Sequence[Bound] = ()) -> float:
    """The age of the oldest transaction that is not sealed; 0 where all are.

    `bounds`: where it is known that nothing stands outside of them, which spares the store a walk over what is gone.
    """
    found = await waiting_page(deps.store, bounds, None, 1)
    return max(0.0, (deps.clock.now() - found[0].occurred_at).total_seconds()) if found else 0.0


async def batches_behind(deps: Deps, projection: Projection) -> float:
    """How many sealed batches a projection has not applied."""
    state = await read_state(deps.store, projection)  # first: the head is never behind what was read before it
    head = await read_head(deps.store)
    return (head.record.seq if head else 0) - (state.record.seq if state else 0)

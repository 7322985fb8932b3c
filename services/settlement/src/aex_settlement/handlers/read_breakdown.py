"""Break down settlements by group. Answered from rollups alone: it costs what the groups cost, however many settled."""

import asyncio
from collections.abc import Sequence
from contextlib import aclosing

from aex_models.settlement import SettlementBreakdown
from aex_runtime.identity.principal import Principal
from aex_settlement.deps import Deps
from aex_settlement.handlers.steady import at_one_state
from aex_settlement.repository.books import each_rollup
from aex_settlement.rules.breakdown import BreakdownFold, dimensions_of, parse_groups
from aex_settlement.rules.periods import parse_days
from aex_settlement.rules.projected import Projection, ProjectionState
from aex_settlement.rules.rollups import view_of
from aex_settlement.rules.visibility import own_dimension


async def break_down(
    deps: Deps,
    reader: Principal,
    group_by: Sequence[str],
    first_day: str | None,
    last_day: str | None,
    currency: str | None,
) -> SettlementBreakdown:
    """The reader's settlements by one or two groups, as far as they are sealed: `complete_to`.

    Raises `InvalidRequest` for bad groups or days, and for more rows than an answer takes.
    """
    groups, days, own = parse_groups(group_by), parse_days(first_day, last_day), own_dimension(reader)
    view = view_of(dimensions_of(groups, own))

    async def read(state: ProjectionState) -> SettlementBreakdown:
        fold = BreakdownFold(groups, days, currency)
        async with aclosing(each_rollup(deps.store, state.generation, view, own, days)) as rollups:
            async for rollup in rollups:
                fold.add(rollup)
        return await asyncio.to_thread(fold.result, state.sealed_at)  # perhaps thousands of rows

    found = await at_one_state(deps, Projection.ROLLUPS, read)
    return BreakdownFold(groups).result(None) if found is None else found

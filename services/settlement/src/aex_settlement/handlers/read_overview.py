"""Read the overview: settlements by day and by whom and what they were for, all of one moment of the books."""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from aex_models.settlement import SettlementBreakdown
from aex_runtime.identity.principal import Principal
from aex_settlement.deps import Deps
from aex_settlement.handlers.steady import at_one_state
from aex_settlement.repository.books import each_rollup
from aex_settlement.rules.breakdown import MAX_ROWS, BreakdownFold, TooManyRows, dimensions_of
from aex_settlement.rules.periods import DaySpan, parse_days
from aex_settlement.rules.projected import Projection, ProjectionState
from aex_settlement.rules.rollups import DIMENSIONS, view_of
from aex_settlement.rules.visibility import own_dimension

_SOUGHT = ("agent", "consumer")
"""What rollups can be sought by, one of them at a time; the rest is looked at."""


@dataclass(frozen=True, slots=True)
class OverviewFilter:
    """Which settlements: of one agent, consumer or domain each, or of any; UTC days, both included."""

    equal: Mapping[str, str]
    first_day: str
    last_day: str


async def read_overview(
    deps: Deps, reader: Principal, wanted: OverviewFilter, groups: Sequence[str], max_rows: int = MAX_ROWS
) -> dict[str, SettlementBreakdown | None]:
    """The reader's settlements by each of these groups; empty before anything was sealed.

    Parties or domains of more than `max_rows` are None: too many to be ranked. Raises `InvalidRequest` for days that
    make no period, and for more of them than an answer takes.
    """
    days, own = parse_days(wanted.first_day, wanted.last_day), own_dimension(reader)
    if any(wanted.equal.get(name, value) != value for name, value in own.items()):
        return {}  # somebody else's: as if there were none
    equal = {**wanted.equal, **own}

    async def read(state: ProjectionState) -> dict[str, SettlementBreakdown | None]:
        return {group: await _grouped(deps, state, group, equal, days, max_rows) for group in groups}

    return await at_one_state(deps, Projection.ROLLUPS, read) or {}


async def _grouped(
    deps: Deps, state: ProjectionState, group: str, equal: Mapping[str, str], days: DaySpan, max_rows: int
) -> SettlementBreakdown | None:
    """From the view with the fewest rollups: days and months, and so the totals, ask for what is filtered alone."""
    fold = BreakdownFold((group,), days, max_rows=max_rows)
    view = view_of(dimensions_of((group,), equal))
    sought = {name: equal[name] for name in _SOUGHT if name in equal}
    in_index = dict(list(sought.items())[:1])
    try:
        async with aclosing(each_rollup(deps.store, state.generation, view, in_index, days)) as rollups:
            async for rollup in rollups:
                if all(getattr(rollup, name) == value for name, value in equal.items()):
                    fold.add(rollup)
    except TooManyRows:
        if group not in DIMENSIONS:
            raise
        return None
    return await asyncio.to_thread(fold.result, state.sealed_at)  # perhaps thousands of rows

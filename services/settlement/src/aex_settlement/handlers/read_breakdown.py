"""Breakdowns of settlements by group, read from rollups alone.

A read costs as much as there are groups, however many settlements there are.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import aclosing

from aex_models.settlement import SettlementBreakdown
from aex_runtime.identity.principals import Principal
from aex_settlement.deps import Deps
from aex_settlement.handlers.consistent_reads import read_consistent
from aex_settlement.repository.projections import iterate_rollups
from aex_settlement.rules.breakdown import MAX_ROWS, BreakdownFold, TooManyRows, choose_view_dimensions, parse_groups
from aex_settlement.rules.projections import DaySpan, Projection, ProjectionState, parse_days
from aex_settlement.rules.rollups import DIMENSIONS, view_name
from aex_settlement.rules.settlements import SettlementFilter, own_dimension_filter

_INDEXED = ("agent", "consumer")
"""Dimensions with an index. A query uses one of them; the others are filtered after reading."""


async def read_settlement_breakdown(
    deps: Deps,
    reader: Principal,
    group_by: Sequence[str],
    first_day: str | None,
    last_day: str | None,
    currency: str | None,
) -> SettlementBreakdown:
    """Return counts and amounts of the reader's settlements by one or two groups.

    Raises `InvalidRequest` for invalid groups or days, and for more rows than an answer may have.
    """
    groups, days, own = parse_groups(group_by), parse_days(first_day, last_day), own_dimension_filter(reader)
    view = view_name(choose_view_dimensions(groups, own))

    async def read(state: ProjectionState) -> SettlementBreakdown:
        return await _fold(deps, state, view, own, BreakdownFold(groups, days, currency))

    found = await read_consistent(deps, Projection.ROLLUPS, read)
    return BreakdownFold(groups).build_breakdown(None) if found is None else found


async def read_breakdown_per_group(
    deps: Deps, reader: Principal, query: SettlementFilter, groups: Sequence[str], max_rows: int = MAX_ROWS
) -> dict[str, SettlementBreakdown | None]:
    """Return a breakdown of the reader's settlements for each group; empty before the first batch.

    A breakdown by agent, consumer or domain with more than `max_rows` rows is None. Raises `InvalidRequest` for
    invalid days, and for more than `max_rows` days or months.
    """
    days, own = parse_days(query.first_day, query.last_day), own_dimension_filter(reader)
    if any(query.equal.get(name, value) != value for name, value in own.items()):
        return {}  # rows of another party: as if there were none
    equal = {**query.equal, **own}

    async def read(state: ProjectionState) -> dict[str, SettlementBreakdown | None]:
        return {group: await _break_down_by(deps, state, group, equal, days, max_rows) for group in groups}

    return await read_consistent(deps, Projection.ROLLUPS, read) or {}


async def _break_down_by(
    deps: Deps, state: ProjectionState, group: str, equal: Mapping[str, str], days: DaySpan, max_rows: int
) -> SettlementBreakdown | None:
    """Return a breakdown by one group, read from the fewest rollups that contain it.

    Returns None if a breakdown by agent, consumer or domain has too many rows.
    """
    view = view_name(choose_view_dimensions((group,), equal))
    try:
        return await _fold(deps, state, view, equal, BreakdownFold((group,), days, max_rows=max_rows))
    except TooManyRows:
        if group not in DIMENSIONS:
            raise
        return None


async def _fold(
    deps: Deps, state: ProjectionState, view: str, equal: Mapping[str, str], fold: BreakdownFold
) -> SettlementBreakdown:
    """Return the breakdown of the view's rollups whose dimensions have the values in `equal`."""
    indexed = {name: equal[name] for name in _INDEXED if name in equal}
    query = dict(list(indexed.items())[:1])
    async with aclosing(iterate_rollups(deps.store, state.generation, view, query, fold.days)) as rollups:
        async for rollup in rollups:
            if all(getattr(rollup, name) == value for name, value in equal.items()):
                fold.add(rollup)
    return await asyncio.to_thread(fold.build_breakdown, state.sealed_at)  # perhaps thousands of rows

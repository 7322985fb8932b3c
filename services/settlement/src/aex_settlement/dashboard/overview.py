"""View model of the overview page: totals, time series and rankings of a period in one currency."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from aex_models.audiences import Audience, project
from aex_models.settlement import BreakdownRow, SettlementBreakdown
from aex_runtime.identity.principals import Principal
from aex_settlement.dashboard.filters import PageFilter, count_days
from aex_settlement.rules.settlements import own_dimension_filter

TOP = 10
MAX_DAYS = 92
"""Days that are displayed as one bar each; a longer period is displayed by month."""
Row = Mapping[str, Any]
_TITLES = {"agent": "Agents", "consumer": "Consumers", "domain": "Domains"}


@dataclass(frozen=True, slots=True)
class Ranked:
    """Row of a ranking; `share` is its total in percent of the largest one."""

    name: str
    share: int
    row: Row


@dataclass(frozen=True, slots=True)
class Ranking:
    """Agents, consumers or domains with the largest totals."""

    dimension: str
    title: str
    rows: tuple[Ranked, ...]
    unlisted: int
    """Number of groups that are not listed."""
    too_many: bool = False
    """True if there are too many groups to rank; then there are no rows."""


@dataclass(frozen=True, slots=True)
class Overview:
    """Figures of the overview page."""

    currency: str | None
    """Displayed currency: the requested one, else the one with most settlements; None if there are none."""
    others: tuple[Row, ...]
    """Totals of the other currencies, which are never added to each other."""
    step: str
    """Unit of time of the series: `day` or `month`."""
    totals: Row | None
    """Totals of the displayed currency; None if nothing was settled in it."""
    steps: tuple[Row, ...]
    rankings: tuple[Ranking, ...]
    complete_to: datetime | None
    """Time up to which the figures are complete."""


def choose_overview_groups(reader: Principal, selection: PageFilter) -> tuple[str, ...]:
    """Return the groups by which the page breaks settlements down.

    The first is the day or month. Agent, consumer and domain follow, except the reader's own dimension.
    """
    own = own_dimension_filter(reader)
    return (_step(selection), *(name for name in _TITLES if name not in own))


def build_overview(
    found: Mapping[str, SettlementBreakdown | None], reader: Principal, selection: PageFilter
) -> Overview:
    """Return the page's figures from the breakdowns in `found`, one for each overview group."""
    step, role = _step(selection), reader.role
    by_step = found.get(step)
    totals = () if by_step is None else by_step.totals
    most = max(totals, key=lambda each: (each.count, each.currency), default=None)
    currency = selection.currency or (most.currency if most else None)
    return Overview(
        currency=currency,
        others=tuple(project(each, role) for each in totals if each.currency != currency),
        step=step,
        totals=next((project(each, role) for each in totals if each.currency == currency), None),
        steps=() if by_step is None else _rows(by_step.rows, currency, role),
        rankings=tuple(
            _ranking(name, found[name], currency, role)
            for name in choose_overview_groups(reader, selection)[1:]
            if name in found
        ),
        complete_to=None if by_step is None else by_step.complete_to,
    )


def _step(selection: PageFilter) -> str:
    return "day" if count_days(selection) <= MAX_DAYS else "month"


def _rows(rows: Sequence[BreakdownRow], currency: str | None, role: Audience) -> tuple[Row, ...]:
    return tuple(project(each, role) for each in rows if each.currency == currency)


def _ranking(dimension: str, found: SettlementBreakdown | None, currency: str | None, role: Audience) -> Ranking:
    if found is None:
        return Ranking(dimension, _TITLES[dimension], (), unlisted=0, too_many=True)
    of_currency = [each for each in found.rows if each.currency == currency]
    first = sorted(of_currency, key=lambda each: (-each.total, getattr(each, dimension)))[:TOP]
    largest = max((each.total for each in first), default=Decimal(0)) or 1
    percents = [int(max(each.total, Decimal(0)) * 100 / largest) for each in first]
    return Ranking(
        dimension=dimension,
        title=_TITLES[dimension],
        rows=tuple(
            Ranked(getattr(each, dimension), percent, project(each, role))
            for each, percent in zip(first, percents, strict=True)
        ),
        unlisted=len(of_currency) - len(first),
    )

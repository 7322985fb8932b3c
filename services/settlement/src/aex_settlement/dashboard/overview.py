"""View model of the overview: a period in one currency. Pure: from breakdowns."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from aex_models.audiences import Audience, project
from aex_models.settlement import BreakdownRow, SettlementBreakdown
from aex_runtime.identity.principals import Principal
from aex_settlement.dashboard.filters import PageFilter, day_count
from aex_settlement.rules.settlements import own_dimension

TOP = 10
MAX_DAYS = 92
"""Days whose bars are readable; a longer period is displayed by month."""
Row = Mapping[str, Any]
_TITLES = {"agent": "Agents", "consumer": "Consumers", "domain": "Domains"}


@dataclass(frozen=True, slots=True)
class Ranked:
    """A row of a ranking; `share` is its percentage of the largest total."""

    name: str
    share: int
    row: Row


@dataclass(frozen=True, slots=True)
class Ranking:
    """The largest groups of a dimension by total."""

    dimension: str
    title: str
    rows: tuple[Ranked, ...]
    more: int
    """Groups beyond these."""
    too_many: bool = False
    """True if there are more groups than can be ranked: then there are no rows."""


@dataclass(frozen=True, slots=True)
class Overview:
    """The page's figures. `totals` is None if nothing was settled."""

    currency: str | None
    others: tuple[Row, ...]
    """Totals of the other currencies, which are never added."""
    step: str
    """`day` or `month`."""
    totals: Row | None
    steps: tuple[Row, ...]
    rankings: tuple[Ranking, ...]
    complete_to: datetime | None


def groups_for(reader: Principal, selection: PageFilter) -> tuple[str, ...]:
    """Return the overview's groups: day or month, and each dimension but the reader's own."""
    own = own_dimension(reader)
    return (_step(selection), *(name for name in _TITLES if name not in own))


def build_overview(
    found: Mapping[str, SettlementBreakdown | None], reader: Principal, selection: PageFilter
) -> Overview:
    """Return the page's figures from the breakdowns of `groups_for`."""
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
            _ranking(name, found[name], currency, role) for name in groups_for(reader, selection)[1:] if name in found
        ),
        complete_to=None if by_step is None else by_step.complete_to,
    )


def _step(selection: PageFilter) -> str:
    return "day" if day_count(selection) <= MAX_DAYS else "month"


def _rows(rows: Sequence[BreakdownRow], currency: str | None, role: Audience) -> tuple[Row, ...]:
    return tuple(project(each, role) for each in rows if each.currency == currency)


def _ranking(dimension: str, found: SettlementBreakdown | None, currency: str | None, role: Audience) -> Ranking:
    if found is None:
        return Ranking(dimension, _TITLES[dimension], (), more=0, too_many=True)
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
        more=len(of_currency) - len(first),
    )

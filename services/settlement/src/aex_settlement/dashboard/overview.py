"""What the overview shows of a period, in one currency. Pure: breakdowns in, figures to render out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from aex_models.audiences import Audience, project
from aex_models.settlement import BreakdownRow, SettlementBreakdown
from aex_runtime.identity.principal import Principal
from aex_settlement.dashboard.filters import Filter, day_count
from aex_settlement.rules.visibility import own_dimension

TOP = 10
MAX_DAYS = 92
"""Of which a bar each can be told apart; a longer period is shown by month."""
Row = Mapping[str, Any]
_TITLES = {"agent": "Agents", "consumer": "Consumers", "domain": "Domains"}


@dataclass(frozen=True, slots=True)
class Ranked:
    """A row of a ranking; `share` of the largest total, in percent of a bar's width."""

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
    """How many groups there are beyond these."""
    too_many: bool = False
    """Whether there are more than can be ranked: then nothing is."""


@dataclass(frozen=True, slots=True)
class Overview:
    """Everything on the page. `totals` is None where nothing was booked."""

    currency: str | None
    others: tuple[Row, ...]
    """The totals in the period's other currencies: never added."""
    step: str
    """`day` or `month`."""
    totals: Row | None
    steps: tuple[Row, ...]
    rankings: tuple[Ranking, ...]
    complete_to: datetime | None


def groups_for(reader: Principal, wanted: Filter) -> tuple[str, ...]:
    """What the overview reads: by day or month, and by each dimension that is not the reader itself."""
    own = own_dimension(reader)
    return (_step(wanted), *(name for name in _TITLES if name not in own))


def overview(found: Mapping[str, SettlementBreakdown | None], reader: Principal, wanted: Filter) -> Overview:
    """The page's figures from the breakdowns of `groups_for`."""
    step, role = _step(wanted), reader.role
    by_step = found.get(step)
    totals = () if by_step is None else by_step.totals
    currency = wanted.currency or _usual(totals)
    return Overview(
        currency=currency,
        others=tuple(project(each, role) for each in totals if each.currency != currency),
        step=step,
        totals=next((project(each, role) for each in totals if each.currency == currency), None),
        steps=() if by_step is None else _rows(by_step.rows, currency, role),
        rankings=tuple(
            _ranking(name, found[name], currency, role) for name in groups_for(reader, wanted)[1:] if name in found
        ),
        complete_to=None if by_step is None else by_step.complete_to,
    )


def _step(wanted: Filter) -> str:
    return "day" if day_count(wanted) <= MAX_DAYS else "month"


def _usual(totals: Sequence[BreakdownRow]) -> str | None:
    """The currency with the most settlements."""
    return max(totals, key=lambda each: (each.count, each.currency)).currency if totals else None


def _rows(rows: Sequence[BreakdownRow], currency: str | None, role: Audience) -> tuple[Row, ...]:
    return tuple(project(each, role) for each in rows if each.currency == currency)


def _ranking(dimension: str, found: SettlementBreakdown | None, currency: str | None, role: Audience) -> Ranking:
    if found is None:
        return Ranking(dimension, _TITLES[dimension], (), more=0, too_many=True)
    of_currency = [each for each in found.rows if each.currency == currency]
    first = sorted(of_currency, key=lambda each: (-each.total, getattr(each, dimension)))[:TOP]
    largest = max((each.total for each in first), default=Decimal(0))
    return Ranking(
        dimension=dimension,
        title=_TITLES[dimension],
        rows=tuple(
            Ranked(getattr(each, dimension), _percent(each.total, largest), project(each, role)) for each in first
        ),
        more=len(of_currency) - len(first),
    )


def _percent(part: Decimal, whole: Decimal) -> int:
    return int(max(part, Decimal(0)) * 100 / whole) if whole > 0 else 0

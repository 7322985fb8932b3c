"""Breakdowns computed from rollups, as integer sums. Amounts of different currencies are never added."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from operator import add
from typing import Any

from aex_models.money import from_micros
from aex_models.settlement import BreakdownRow, SettlementBreakdown
from aex_models.work import Problem
from aex_runtime.errors import InvalidRequest
from aex_settlement.rules.projections import DaySpan, DaySums, Rollup
from aex_settlement.rules.rollups import DIMENSIONS

MAX_GROUPS = 2
MAX_ROWS = 50_000
"""Rows of an answer, about 15 MB of JSON; the export has no such limit."""

GROUPS = (*DIMENSIONS, "day", "month")
"""Groups by which settlements can be broken down; `day` and `month` are UTC, of the ledger transaction."""


def parse_groups(group_by: Sequence[str]) -> tuple[str, ...]:
    """Return the one or two groups of a query, written `agent,day` or as repeated parameters.

    Raises `InvalidRequest`.
    """
    groups = tuple(name.strip() for each in group_by for name in each.split(","))
    if any(name not in GROUPS for name in groups):
        raise _invalid_group_by("unknown_group", f"group_by takes {', '.join(GROUPS)}")
    if len(groups) > MAX_GROUPS or not groups:
        raise _invalid_group_by("too_many_groups" if groups else "no_group", "group_by takes one or two groups")
    if len(set(groups)) < len(groups):
        raise _invalid_group_by("repeated_group", "group_by names the same group twice")
    return groups


def choose_view_dimensions(groups: Sequence[str], party_filter: Mapping[str, str]) -> tuple[str, ...]:
    """Return the dimensions of the rollup view from which these groups can be read.

    They include the reader's own dimension, by which `party_filter` limits the view.
    """
    return tuple(name for name in DIMENSIONS if name in groups or name in party_filter)


class TooManyRows(InvalidRequest):
    """Error for a breakdown with more rows than an answer may have."""


def _invalid_group_by(code: str, message: str, error: type[InvalidRequest] = InvalidRequest) -> InvalidRequest:
    return error(code, message, [Problem(path="query/group_by", code=code, message=message)])


_Sums = tuple[int, ...]
"""Figures of a `DaySums` without its day."""
_ZERO: _Sums = (0,) * len(DaySums._fields[1:])


def _add(one: _Sums, other: Iterable[int]) -> _Sums:
    return tuple(map(add, one, other))


def _row(currency: str, sums: _Sums, keys: Mapping[str, Any]) -> BreakdownRow:
    count, success_count, *micros = sums
    cpc, cpa_bonus, cpa_penalty, total = map(from_micros, micros)
    return BreakdownRow(
        currency=currency,
        count=count,
        success_count=success_count,
        cpc=cpc,
        cpa_bonus=cpa_bonus,
        cpa_penalty=cpa_penalty,
        total=total,
        **keys,
    )


@dataclass(slots=True)
class BreakdownFold:
    """Breakdown that is summed from rollups one at a time; its number of rows is bounded.

    A group whose settlements were all reversed is a row of zeros, because it is in the ledger and the export. A group
    without any transaction in the period has no row.
    """

    groups: tuple[str, ...]
    days: DaySpan = field(default_factory=DaySpan)
    currency: str | None = None
    max_rows: int = MAX_ROWS
    _rows: dict[tuple[str, ...], _Sums] = field(default_factory=dict)

    def add(self, rollup: Rollup) -> None:
        """Add a rollup's days that are in the period; ignore another currency. Raises `TooManyRows`."""
        if self.currency not in (None, rollup.currency):
            return
        for day in rollup.days:
            if self.days.contains(day.day):
                key = self._key(rollup, day.day)
                self._rows[key] = _add(self._rows[key], day[1:])

    def _key(self, rollup: Rollup, day: str) -> tuple[str, ...]:
        """Return the key of the day's row; create a missing row. Raises `TooManyRows`."""
        key = (*(day if name == "day" else str(getattr(rollup, name)) for name in self.groups), rollup.currency)
        if key not in self._rows:
            if len(self._rows) == self.max_rows:
                message = f"more than {self.max_rows} rows: take a shorter period, or one group"
                raise _invalid_group_by("too_many_rows", message, TooManyRows)
            self._rows[key] = _ZERO
        return key

    def build_breakdown(self, complete_to: datetime | None) -> SettlementBreakdown:
        """Return the rows sorted by group and currency, with a total for each currency."""
        totals: dict[str, _Sums] = {}
        for key, sums in self._rows.items():
            totals[key[-1]] = _add(totals.get(key[-1], _ZERO), sums)
        return SettlementBreakdown(
            rows=tuple(
                _row(key[-1], sums, dict(zip(self.groups, key[:-1], strict=True)))
                for key, sums in sorted(self._rows.items())
            ),
            totals=tuple(_row(currency, totals[currency], {}) for currency in sorted(totals)),
            complete_to=complete_to,
        )

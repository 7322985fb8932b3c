"""Breakdowns from rollups: integer sums in any order. Currencies are never added."""

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
"""About 15 MB of JSON; the export has no such limit."""

GROUPS = (*DIMENSIONS, "day", "month")
"""Groups of settlements. Days and months are UTC, those of the ledger transaction."""


def parse_groups(group_by: Sequence[str]) -> tuple[str, ...]:
    """Return one or two groups, written `agent,day` or repeated. Raises `InvalidRequest`."""
    groups = tuple(name.strip() for each in group_by for name in each.split(","))
    if any(name not in GROUPS for name in groups):
        raise _invalid_group_by("unknown_group", f"group_by takes {', '.join(GROUPS)}")
    if len(groups) > MAX_GROUPS or not groups:
        raise _invalid_group_by("too_many_groups" if groups else "no_group", "group_by takes one or two groups")
    if len(set(groups)) < len(groups):
        raise _invalid_group_by("repeated_group", "group_by names the same group twice")
    return groups


def dimensions_of(groups: Sequence[str], own: Mapping[str, str]) -> tuple[str, ...]:
    """Return the dimensions of the view for these groups and for a reader with an `own` dimension."""
    return tuple(name for name in DIMENSIONS if name in groups or name in own)


class TooManyRows(InvalidRequest):
    """A breakdown with more rows than an answer may have."""


def _invalid_group_by(code: str, message: str, error: type[InvalidRequest] = InvalidRequest) -> InvalidRequest:
    return error(code, message, [Problem(path="query/group_by", code=code, message=message)])


_Sums = tuple[int, ...]
"""The figures of a `DaySums` without its day."""
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
    """Sums rollups one at a time; memory grows with the rows of the answer, which are bounded.

    A group whose settlements were all reversed is a row of zeros: they stand in the ledger and in the export. A group
    without any ledger transaction in these days is no row.
    """

    groups: tuple[str, ...]
    days: DaySpan = field(default_factory=DaySpan)
    currency: str | None = None
    max_rows: int = MAX_ROWS
    _rows: dict[tuple[str, ...], _Sums] = field(default_factory=dict)

    def add(self, rollup: Rollup) -> None:
        """Add a group's month. Raises `TooManyRows` for more rows than an answer may have."""
        if self.currency not in (None, rollup.currency):
            return
        for day in rollup.days:
            if self.days.contains(day.day):
                key = self._key(rollup, day.day)
                self._rows[key] = _add(self._rows[key], day[1:])

    def _key(self, rollup: Rollup, day: str) -> tuple[str, ...]:
        """Return the key of the day's row, which is there afterwards."""
        key = (*(day if name == "day" else str(getattr(rollup, name)) for name in self.groups), rollup.currency)
        if key not in self._rows:
            if len(self._rows) == self.max_rows:
                message = f"more than {self.max_rows} rows: take a shorter period, or one group"
                raise _invalid_group_by("too_many_rows", message, TooManyRows)
            self._rows[key] = _ZERO
        return key

    def result(self, complete_to: datetime | None) -> SettlementBreakdown:
        """Return the rows in the order of their keys, then of their currency, with a total for each currency."""
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

"""A breakdown out of rollups: integer sums, whose order does not matter. Currencies are never added."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from aex_models.money import from_micros
from aex_models.settlement import BreakdownRow, SettlementBreakdown
from aex_models.work import Problem
from aex_runtime.errors import InvalidRequest
from aex_settlement.rules.periods import DaySpan
from aex_settlement.rules.projected import DaySums, Rollup
from aex_settlement.rules.rollups import DIMENSIONS

MAX_GROUPS = 2
MAX_ROWS = 50_000
"""Some 15 MB of JSON. Whoever wants more wants the export, or a shorter period."""

GROUPS = (*DIMENSIONS, "day", "month")
"""What settlements can be grouped by. Days and months are UTC, those of the booking."""


def parse_groups(given: Sequence[str]) -> tuple[str, ...]:
    """One or two groups, written `agent,day` or repeated. Raises `InvalidRequest` for anything else."""
    groups = tuple(name.strip() for each in given for name in each.split(","))
    if any(name not in GROUPS for name in groups):
        raise _invalid("unknown_group", f"group_by takes {', '.join(GROUPS)}")
    if len(groups) > MAX_GROUPS or not groups:
        raise _invalid("too_many_groups" if groups else "no_group", "group_by takes one or two groups")
    if len(set(groups)) < len(groups):
        raise _invalid("repeated_group", "group_by names the same group twice")
    return groups


def dimensions_of(groups: Sequence[str], own: Mapping[str, str]) -> tuple[str, ...]:
    """The dimensions of the view that serves these groups to a reader whose `own` value is one of them."""
    return tuple(name for name in DIMENSIONS if name in groups or name in own)


class TooManyRows(InvalidRequest):
    """A breakdown has more rows than an answer takes."""


def _invalid(code: str, message: str) -> InvalidRequest:
    return InvalidRequest(code, message, [Problem(path="query/group_by", code=code, message=message)])


@dataclass(slots=True)
class _Sums:
    """The sums of one group; amounts in micros."""

    count: int = 0
    success_count: int = 0
    cpc: int = 0
    cpa_bonus: int = 0
    cpa_penalty: int = 0
    total: int = 0

    def add_day(self, day: DaySums) -> None:
        self.count += day.booked
        self.success_count += day.succeeded
        self.cpc += day.cpc
        self.cpa_bonus += day.cpa_bonus
        self.cpa_penalty += day.cpa_penalty
        self.total += day.total

    def add(self, other: "_Sums") -> None:
        self.count += other.count
        self.success_count += other.success_count
        self.cpc += other.cpc
        self.cpa_bonus += other.cpa_bonus
        self.cpa_penalty += other.cpa_penalty
        self.total += other.total

    def row(self, currency: str, keys: Mapping[str, Any]) -> BreakdownRow:
        return BreakdownRow(
            currency=currency,
            count=self.count,
            success_count=self.success_count,
            cpc=from_micros(self.cpc),
            cpa_bonus=from_micros(self.cpa_bonus),
            cpa_penalty=from_micros(self.cpa_penalty),
            total=from_micros(self.total),
            **keys,
        )


@dataclass(slots=True)
class BreakdownFold:
    """Gathers rollups one at a time; memory grows with the rows of the answer, and those are bounded.

    A group whose bookings were all taken back is a row of zeros: something was booked there, and stands in the ledger
    and in the export. A group without any booking in these days is no row.
    """

    groups: tuple[str, ...]
    days: DaySpan = field(default_factory=DaySpan)
    currency: str | None = None
    max_rows: int = MAX_ROWS
    _rows: dict[tuple[str, ...], _Sums] = field(default_factory=dict)

    def add(self, rollup: Rollup) -> None:
        """Add a group's month. Raises `TooManyRows` where there are more rows than an answer takes."""
        if self.currency not in (None, rollup.currency):
            return
        for day in rollup.days:
            if self.days.holds(day.day):
                self._sums(rollup, day.day).add_day(day)

    def _sums(self, rollup: Rollup, day: str) -> _Sums:
        key = (*(day if name == "day" else str(getattr(rollup, name)) for name in self.groups), rollup.currency)
        sums = self._rows.get(key)
        if sums is None:
            if len(self._rows) == self.max_rows:
                message = f"more than {self.max_rows} rows: take a shorter period, or one group"
                problem = Problem(path="query/group_by", code="too_many_rows", message=message)
                raise TooManyRows("too_many_rows", message, [problem])
            sums = self._rows[key] = _Sums()
        return sums

    def result(self, complete_to: datetime | None) -> SettlementBreakdown:
        """The rows in the order of their keys, then of their currency; a total for each currency."""
        totals: dict[str, _Sums] = {}
        for key, sums in self._rows.items():
            totals.setdefault(key[-1], _Sums()).add(sums)
        return SettlementBreakdown(
            rows=tuple(self._each_row()),
            totals=tuple(totals[currency].row(currency, {}) for currency in sorted(totals)),
            complete_to=complete_to,
        )

    def _each_row(self) -> Iterator[BreakdownRow]:
        for key in sorted(self._rows):
            yield self._rows[key].row(key[-1], dict(zip(self.groups, key[:-1], strict=True)))

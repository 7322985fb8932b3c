"""Settlements by group: integer sums, whose order does not matter. Currencies are never added."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from aex_models.money import from_micros, to_micros
from aex_models.settlement import BreakdownRow, Settlement, SettlementBreakdown
from aex_models.work import Problem
from aex_runtime.errors import InvalidRequest

MAX_GROUPS = 2
GROUPS: dict[str, Callable[[Settlement], str]] = {
    "agent": lambda settlement: settlement.agent_id,
    "consumer": lambda settlement: settlement.consumer_id,
    "domain": lambda settlement: settlement.domain,
    "day": lambda settlement: settlement.settled_at.astimezone(UTC).date().isoformat(),
    "month": lambda settlement: settlement.settled_at.astimezone(UTC).date().isoformat()[:7],
}
"""What settlements can be grouped by. Days and months are UTC, those of the booking."""


def parse_groups(given: Sequence[str]) -> tuple[str, ...]:
    """One or two groups, written `agent,day` or repeated. Raises `InvalidRequest` for anything else."""
    groups = tuple(name.strip() for each in given for name in each.split(","))
    unknown = [name for name in groups if name not in GROUPS]
    if unknown:
        raise _invalid("unknown_group", f"group_by takes {', '.join(GROUPS)}")
    if len(groups) > MAX_GROUPS or not groups:
        raise _invalid("too_many_groups" if groups else "no_group", "group_by takes one or two groups")
    if len(set(groups)) < len(groups):
        raise _invalid("repeated_group", "group_by names the same group twice")
    return groups


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

    def add(self, settlement: Settlement) -> None:
        cost = settlement.cost
        self.count += 1
        self.success_count += settlement.success
        self.cpc += to_micros(cost.base)
        self.cpa_bonus += to_micros(cost.bonus)
        self.cpa_penalty += to_micros(cost.penalty)
        self.total += to_micros(cost.total)

    def row(self, currency: str, keys: dict[str, Any]) -> BreakdownRow:
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
    """Gathers settlements one at a time, so that memory grows with the groups and not with the settlements."""

    groups: tuple[str, ...]
    _rows: dict[tuple[str, ...], _Sums] = field(default_factory=dict)
    _totals: dict[str, _Sums] = field(default_factory=dict)

    def add(self, settlement: Settlement) -> None:
        """Count one settlement in its group and in its currency's total."""
        currency = settlement.cost.currency
        keys = tuple(GROUPS[group](settlement) for group in self.groups)
        self._rows.setdefault((*keys, currency), _Sums()).add(settlement)
        self._totals.setdefault(currency, _Sums()).add(settlement)

    def result(self, complete_to: datetime) -> SettlementBreakdown:
        """The rows in the order of their keys, then of their currency; a total for each currency."""
        rows = [
            sums.row(key[-1], dict(zip(self.groups, key[:-1], strict=True)))
            for key, sums in sorted(self._rows.items(), key=lambda item: item[0])
        ]
        totals = [sums.row(currency, {}) for currency, sums in sorted(self._totals.items(), key=lambda item: item[0])]
        return SettlementBreakdown(rows=tuple(rows), totals=tuple(totals), complete_to=complete_to)

"""Breakdowns and trial balances, checked against a recount."""

from collections import defaultdict
from dataclasses import dataclass
from decimal import Decimal

from aex_models.audiences import Audience
from aex_models.settlement import BreakdownRow, SettlementBreakdown
from aex_runtime.identity.principals import Principal
from aex_settlement.deps import Deps
from aex_settlement.handlers.read_breakdown import read_settlement_breakdown
from aex_settlement.handlers.read_ledger import read_trial_balance
from tests.benchmarks.ledger.drawing import AGENTS, CONSUMERS
from tests.benchmarks.ledger.recount import FIGURES, Balances, LedgerSums

_COLUMNS = {"agent": 0, "consumer": 1, "domain": 2, "day": 3}
FINANCE = Principal("finance", Audience.FINANCE)


@dataclass(frozen=True, slots=True)
class BreakdownQuery:
    """A breakdown with its reader."""

    name: str
    group_by: tuple[str, ...]
    first_day: str | None = None
    last_day: str | None = None
    reader: Principal = FINANCE

    async def read(self, deps: Deps) -> SettlementBreakdown:
        """Return the service's response."""
        return await read_settlement_breakdown(deps, self.reader, self.group_by, self.first_day, self.last_day, None)

    def check(self, breakdown: SettlementBreakdown, sums: LedgerSums) -> None:
        """Raise `AssertionError` when rows or totals differ from the recount."""
        expected: dict[tuple[str, ...], list[int]] = defaultdict(lambda: [0] * len(FIGURES))
        column = {Audience.CONSUMER: 1, Audience.AGENT: 0}.get(self.reader.role)
        for cell, figures in sums.cells.items():
            is_own = column is None or cell[column] == self.reader.id
            if is_own and (self.first_day or "") <= cell[3] <= (self.last_day or "9999"):
                key = tuple(cell[3][:7] if name == "month" else cell[_COLUMNS[name]] for name in self.group_by)
                for group in (expected[key], expected[()]):
                    group[:] = [left + right for left, right in zip(group, figures, strict=True)]
        total = expected.pop(())
        rows = {tuple(str(getattr(row, name)) for name in self.group_by): _figures(row) for row in breakdown.rows}
        assert rows == dict(expected), f"{self.name}: the rows differ from the recount"
        assert [_figures(row) for row in breakdown.totals] == [total], f"{self.name}: the total differs"


QUERIES = (
    BreakdownQuery("by agent", ("agent",)),
    BreakdownQuery("by day", ("day",)),
    BreakdownQuery("by agent and day", ("agent", "day")),
    BreakdownQuery("by agent and consumer", ("agent", "consumer")),
    BreakdownQuery("by domain and month", ("domain", "month")),
    BreakdownQuery("by agent, part of a month", ("agent",), "2025-02-10", "2025-02-19"),
    BreakdownQuery("a consumer's own, by agent", ("agent",), reader=Principal(CONSUMERS[2], Audience.CONSUMER)),
    BreakdownQuery(
        "an agent's own, by consumer and day", ("consumer", "day"), reader=Principal(AGENTS[5], Audience.AGENT)
    ),
)


async def check_balances(deps: Deps, as_of: str | None, expected: Balances) -> None:
    """Raise `AssertionError` when a trial balance differs from the recount, or its sum from zero."""
    accounts = (await read_trial_balance(deps, as_of)).accounts
    balances = {(each.account, each.currency): _micros(each.balance) for each in accounts}
    assert balances == dict(expected), "the trial balance differs from the recount"
    assert sum(balances.values()) == 0, "the trial balance is not zero"


def _figures(row: BreakdownRow) -> list[int]:
    return [int(row.count), int(row.success_count), *(_micros(getattr(row, name)) for name in FIGURES[2:])]


def _micros(amount: Decimal) -> int:
    return int(amount.scaleb(6))

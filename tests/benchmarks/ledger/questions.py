"""What is asked of the books, and what the answer has to be by the recount."""

from collections import defaultdict
from dataclasses import dataclass
from decimal import Decimal

from aex_models.audiences import Audience
from aex_models.settlement import AccountBalance, BreakdownRow, SettlementBreakdown
from aex_runtime.identity.principal import Principal
from aex_settlement.deps import Deps
from aex_settlement.handlers.read_breakdown import break_down
from tests.benchmarks.ledger.drawing import AGENTS, CONSUMERS
from tests.benchmarks.ledger.recount import FIGURES, Balances, Cells

FINANCE = Principal("finance", Audience.FINANCE)
CURRENCY = "USD"
_COUNTS = FIGURES[:2]
_AMOUNTS = FIGURES[2:]
_PLACES = {"agent": 0, "consumer": 1, "domain": 2, "day": 3}


@dataclass(frozen=True, slots=True)
class Question:
    """One breakdown."""

    name: str
    group_by: tuple[str, ...]
    first_day: str | None = None
    last_day: str | None = None
    reader: Principal = FINANCE

    async def ask(self, deps: Deps) -> SettlementBreakdown:
        """The service's answer."""
        return await break_down(deps, self.reader, self.group_by, self.first_day, self.last_day, None)

    def check(self, answer: SettlementBreakdown, cells: Cells) -> None:
        """Raise `AssertionError` where the answer is not what the cells come to."""
        expected: dict[tuple[str, ...], list[int]] = defaultdict(lambda: [0] * len(FIGURES))
        for cell, sums in cells.items():
            if self._concerns(cell):
                key = tuple(cell[3][:7] if name == "month" else cell[_PLACES[name]] for name in self.group_by)
                for group in (expected[key], expected[()]):
                    group[:] = [mine + theirs for mine, theirs in zip(group, sums, strict=True)]
        total = expected.pop(())
        found = {tuple(str(getattr(row, name)) for name in self.group_by): figures(row) for row in answer.rows}
        assert found == dict(expected), f"{self.name}: the rows are not those of a recount"
        assert [figures(row) for row in answer.totals] == [total], f"{self.name}: the total is not that of a recount"

    def _concerns(self, cell: tuple[str, ...]) -> bool:
        own = {Audience.CONSUMER: 1, Audience.AGENT: 0}.get(self.reader.role)
        mine = own is None or cell[own] == self.reader.id
        return mine and (self.first_day or "") <= cell[3] <= (self.last_day or "9999")


QUESTIONS = (
    Question("by agent", ("agent",)),
    Question("by day", ("day",)),
    Question("by agent and day", ("agent", "day")),
    Question("by agent and consumer", ("agent", "consumer")),
    Question("by domain and month", ("domain", "month")),
    Question("by agent, part of a month", ("agent",), "2025-02-10", "2025-02-19"),
    Question("a consumer's own, by agent", ("agent",), reader=Principal(CONSUMERS[2], Audience.CONSUMER)),
    Question("an agent's own, by consumer and day", ("consumer", "day"), reader=Principal(AGENTS[5], Audience.AGENT)),
)


def figures(row: BreakdownRow) -> list[int]:
    """A row's `FIGURES`, amounts in micros."""
    assert row.currency == CURRENCY
    return [
        *(int(getattr(row, name)) for name in _COUNTS),
        *(_micros(getattr(row, name)) for name in _AMOUNTS),
    ]


def check_balances(accounts: tuple[AccountBalance, ...], expected: Balances) -> None:
    """Raise `AssertionError` where a trial balance is not that of the recount, or is not zero."""
    found = {(each.account, each.currency): _micros(each.balance) for each in accounts}
    assert found == dict(expected), "the trial balance is not that of a recount"
    assert sum(found.values()) == 0, "the trial balance is not zero"


def _micros(amount: Decimal) -> int:
    return int(amount.scaleb(6))

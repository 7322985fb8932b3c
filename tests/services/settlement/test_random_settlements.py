import random
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal

import pytest

from aex_models.contract import Terms
from aex_models.cost import cost
from aex_models.governance import Action, GovernanceResult
from aex_models.money import from_micros
from aex_models.results import Verdict, VerificationResult
from aex_models.settlement import LedgerTransaction, Settlement, sums_by_currency
from aex_models.work import BasePolicy
from aex_runtime.store.port import Document
from aex_settlement.repository.ledger import TRANSACTIONS
from aex_settlement.rules.projections import day_of
from aex_settlement.rules.rollups import DIMENSIONS
from aex_settlement.rules.transactions import reversal_transaction, settlement_transaction
from tests.libs.models.rationals import exact
from tests.libs.models.results import a_result
from tests.services.settlement.adding_up import AMOUNTS, Sums, by_account, by_group, expected_postings, micros_of
from tests.services.settlement.outcomes import NOON, a_settlement

CURRENCIES = ("USD", "EUR", "JPY")
_GOVERNANCE = {action: GovernanceResult(action=action) for action in Action}
_LARGEST = 10**15
"""Micros: the largest single amount."""


class Dice:
    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)

    def amount(self) -> Decimal:
        chance = self._chance
        match chance.randrange(8):
            case 0:
                return from_micros(0)
            case 1:
                return from_micros(1)
            case 2:
                return from_micros(chance.randrange(100))
            case 3:
                return from_micros(_LARGEST - chance.randrange(2))
            case 4 | 5:
                return from_micros(chance.randrange(5_000_000))
            case _:
                return from_micros(chance.randrange(10 ** chance.randrange(1, 16)))

    def cap(self) -> Decimal | None:
        return self._chance.choice([None, Decimal(0), self.amount()])

    def terms(self) -> Terms:
        chance = self._chance
        return Terms(
            cpc_rate=self.amount(),
            max_cpa_total=self.cap(),
            max_penalty_total=self.cap(),
            base_policy=chance.choice(list(BasePolicy)),
            currency=chance.choice(CURRENCIES),
            fee_rate=from_micros(chance.choice([0, 1, 500_000, 10**6, chance.randrange(10**6 + 1)])),
        )

    def result(self) -> VerificationResult:
        chance = self._chance
        success = chance.random() < 0.5
        return a_result(
            verdict=chance.choice(list(Verdict)),
            success=success,
            bonus=self.amount(),
            penalty=self.amount(),
            governance=_GOVERNANCE[chance.choice(list(Action))],
        )

    def who(self) -> tuple[str, ...]:
        """Agent, consumer, domain; an agent may be its own consumer."""
        chance = self._chance
        return (
            chance.choice(["bot", "crew/two", "acme"]),
            chance.choice(["acme", "globex"]),
            chance.choice(["news", ""]),
        )

    def later(self) -> datetime:
        return NOON + timedelta(seconds=self._chance.randrange(100 * 86_400))

    def reversal(self) -> bool:
        return self._chance.random() < 0.1


STORED = 8
"""Every eighth transaction is reversed from its stored bytes."""


@dataclass
class PostedSettlements:
    posted: list[LedgerTransaction] = field(default_factory=list)
    accounts: Sums = field(default_factory=lambda: defaultdict(int))
    """By account and currency."""
    cells: Sums = field(default_factory=lambda: defaultdict(int))
    """By agent, consumer, domain, currency, day and figure."""

    def book(self, settlement: Settlement, micros: dict[str, int], at: datetime, sign: int) -> None:
        """Book a settlement (`sign` 1) or take it back (−1); the transaction must say what the rationals do."""
        make = settlement_transaction if sign == 1 else reversal_transaction
        stored = make(settlement, 1, settlement.cost, at, "drawn at random", "service:settlement")
        if len(self.posted) % STORED == 0:
            stored = _as_stored(stored)
        assert sums_by_currency(stored.postings) == {settlement.cost.currency: 0}
        assert stored.booking is not None
        for figure, name in AMOUNTS.items():
            assert getattr(stored.booking, figure) == sign * micros[name], figure
        self.posted.append(stored)
        for account, amount in expected_postings(settlement, micros).items():
            self.accounts[account, settlement.cost.currency] += sign * amount
        figures = {figure: micros[AMOUNTS[figure]] for figure in ("cpc", "cpa_bonus", "cpa_penalty", "total")}
        figures |= {"count": 1, "success_count": int(settlement.success)}
        cell = settlement.agent_id, settlement.consumer_id, settlement.domain, settlement.cost.currency, day_of(at)
        for figure, amount in figures.items():
            self.cells[*cell, figure] += sign * amount

    def check(self) -> None:
        assert by_account(self.posted) == self.accounts
        for currency in CURRENCIES:
            assert sum(amount for (_, each), amount in self.accounts.items() if each == currency) == 0
        for view, found in by_group(self.posted).items():
            assert found == self._of_view(view), view

    def _of_view(self, view: str) -> Sums:
        kept = [position for position, name in enumerate(DIMENSIONS) if name in view.split("+")]
        sums: Sums = defaultdict(int)
        for key, amount in self.cells.items():
            sums[*(key[position] for position in kept), *key[len(DIMENSIONS) :]] += amount
        return sums


def _as_stored(transaction: LedgerTransaction) -> LedgerTransaction:
    body, fields = TRANSACTIONS.encode(transaction)
    stored = TRANSACTIONS.decode(Document("key", body, fields, 1)).record
    assert stored == transaction
    return stored


def settle_at_random(count: int, seed: int) -> PostedSettlements:
    """Settle `count` random results, take some back, and compare each step with its rational."""
    dice_value, books = Dice(seed), PostedSettlements()
    for number in range(count):
        agreed, result = dice_value.terms(), dice_value.result()
        amounts, micros = cost(agreed, result), micros_of(exact(agreed, result))
        agent, consumer, domain = dice_value.who()
        settlement = a_settlement(
            contract_id=f"ctr_{number}",
            agent_id=agent,
            consumer_id=consumer,
            domain=domain,
            success=result.success,
            cost=amounts,
        )
        books.book(settlement, micros, dice_value.later(), 1)
        if dice_value.reversal():
            books.book(settlement, micros, dice_value.later(), -1)
    return books


@pytest.mark.parametrize("count", [2_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_random_settlements_do_not_drift(count: int) -> None:
    books = settle_at_random(count, seed=2)
    books.check()
    assert len(books.posted) > count * 1.05

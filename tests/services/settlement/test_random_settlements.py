"""A hundred thousand random settlements, booked, stored, read back and added up, against exact rationals: no drift."""

import random
from collections import defaultdict
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aex_models.cost import cost
from aex_models.outcome import OutcomeRecord
from aex_models.settlement import LedgerTransaction, Settlement, sums_by_currency
from aex_runtime.store.port import Document
from aex_settlement.repository.ledger import TRANSACTIONS
from aex_settlement.rules.booked import reversal_transaction, settlement_transaction
from aex_settlement.rules.projected import day_of
from aex_settlement.rules.recompute import recomputed_cost
from aex_settlement.rules.rollups import DIMENSIONS
from tests.libs.models.rationals import exact
from tests.services.settlement.adding_up import AMOUNTS, Sums, by_account, by_group, expected_postings, micros_of
from tests.services.settlement.dice import CURRENCIES, Dice
from tests.services.settlement.outcomes import NOON, a_settlement, outcomes

STORED = 8
"""One transaction in so many is taken back from its bytes in storage."""


@dataclass
class Books:
    """What was booked, and what rationals say of it."""

    booked: list[LedgerTransaction] = field(default_factory=list)
    accounts: Sums = field(default_factory=lambda: defaultdict(int))
    """By account and currency."""
    cells: Sums = field(default_factory=lambda: defaultdict(int))
    """By agent, consumer, domain, currency, day and figure."""

    def book(self, settlement: Settlement, micros: dict[str, int], at: datetime, sign: int) -> None:
        """Book a settlement (`sign` 1) or take it back (−1); the transaction must say what the rationals do."""
        make = settlement_transaction if sign == 1 else reversal_transaction
        stored = make(settlement, 1, settlement.cost, at, "drawn at random", "service:settlement")
        if len(self.booked) % STORED == 0:
            stored = _as_stored(stored)
        assert sums_by_currency(stored.postings) == {settlement.cost.currency: 0}
        assert stored.booking is not None
        for figure, name in AMOUNTS.items():
            assert getattr(stored.booking, figure) == sign * micros[name], figure
        self.booked.append(stored)
        for account, amount in expected_postings(settlement, micros).items():
            self.accounts[account, settlement.cost.currency] += sign * amount
        figures = {figure: micros[AMOUNTS[figure]] for figure in ("cpc", "cpa_bonus", "cpa_penalty", "total")}
        figures |= {"count": 1, "success_count": int(settlement.success)}
        cell = settlement.agent_id, settlement.consumer_id, settlement.domain, settlement.cost.currency, day_of(at)
        for figure, amount in figures.items():
            self.cells[*cell, figure] += sign * amount

    def check(self) -> None:
        """Added up by the service's own rules, everything is what the rationals came to, to the micro."""
        assert by_account(self.booked) == self.accounts
        for currency in CURRENCIES:
            assert sum(amount for (_, each), amount in self.accounts.items() if each == currency) == 0
        for view, found in by_group(self.booked).items():
            assert found == self._of_view(view), view

    def _of_view(self, view: str) -> Sums:
        kept = [place for place, name in enumerate(DIMENSIONS) if name in view.split("+")]
        sums: Sums = defaultdict(int)
        for key, amount in self.cells.items():
            sums[*(key[place] for place in kept), *key[len(DIMENSIONS) :]] += amount
        return sums


def _as_stored(transaction: LedgerTransaction) -> LedgerTransaction:
    body, fields = TRANSACTIONS.encode(transaction)
    stored = TRANSACTIONS.decode(Document("key", body, fields, 1)).record
    assert stored == transaction
    return stored


def settle_at_random(count: int, seed: int) -> Books:
    """Settle `count` random results, take some back, and compare each step with its rational."""
    dice, books = Dice(seed), Books()
    for number in range(count):
        agreed, result = dice.terms(), dice.result()
        amounts, micros = cost(agreed, result), micros_of(exact(agreed, result))
        agent, consumer, domain = dice.who()
        settlement = a_settlement(
            contract_id=f"ctr_{number}",
            agent_id=agent,
            consumer_id=consumer,
            domain=domain,
            success=result.success,
            cost=amounts,
        )
        books.book(settlement, micros, dice.later(), 1)
        if dice.taken_back():
            books.book(settlement, micros, dice.later(), -1)
    return books


def test_two_thousand_random_settlements_do_not_drift() -> None:
    settle_at_random(2_000, seed=1).check()


@pytest.mark.slow
def test_a_hundred_thousand_random_settlements_do_not_drift() -> None:
    books = settle_at_random(100_000, seed=2)
    books.check()
    assert len(books.booked) > 105_000


def test_the_dice_meet_every_rule_of_the_cost() -> None:
    dice, met = Dice(3), set[str]()
    for _ in range(2_000):
        agreed, result = dice.terms(), dice.result()
        amounts = cost(agreed, result)
        met |= {
            name
            for name in ("base", "bonus", "penalty", "bonus_capped", "penalty_waived", "fee")
            if getattr(amounts, name)
        }
        met |= {"free"} if amounts.total == 0 else set()
        met |= {"beyond doubles"} if amounts.total * 10**6 > 2**50 else set()
        met |= {"rounded"} if amounts.fee != amounts.total * agreed.fee_rate else set()
    assert met >= {
        "base",
        "bonus",
        "penalty",
        "bonus_capped",
        "penalty_waived",
        "fee",
        "free",
        "beyond doubles",
        "rounded",
    }


def booked_of(outcome: OutcomeRecord, number: int) -> tuple[LedgerTransaction, LedgerTransaction]:
    """A settlement of the outcome, and its reversal two days later."""
    settlement = a_settlement(
        contract_id=f"ctr_{number}",
        agent_id=outcome.agent_id,
        consumer_id=outcome.consumer_id,
        domain=outcome.domain,
        success=outcome.verification_result is not None and outcome.verification_result.success,
        cost=recomputed_cost(outcome),
    )
    made = settlement, 1, settlement.cost
    return (
        settlement_transaction(*made, NOON, "outcome", "service:settlement"),
        reversal_transaction(*made, NOON + timedelta(days=2), "billed in error", "finance"),
    )


@given(st.lists(outcomes(), min_size=1, max_size=6))
@settings(max_examples=100, deadline=None)
def test_what_is_settled_and_taken_back_comes_to_nothing(drawn: list[OutcomeRecord]) -> None:
    booked = [each for number, outcome in enumerate(drawn) for each in booked_of(outcome, number)]
    assert not any(by_account(booked).values())
    for view in by_group(booked).values():
        sums: Sums = defaultdict(int)
        for (*of, _day, figure), amount in view.items():
            sums[*of, figure] += amount
        assert not any(sums.values())


@given(st.lists(outcomes(), min_size=1, max_size=6), st.integers(1, 12), st.randoms())
@settings(max_examples=100, deadline=None)
def test_neither_the_order_nor_the_batches_change_what_the_books_come_to(
    drawn: list[OutcomeRecord], size: int, chance: random.Random
) -> None:
    booked = [each for number, outcome in enumerate(drawn) for each in booked_of(outcome, number)]
    accounts, groups = by_account(booked), by_group(booked)
    chance.shuffle(booked)
    assert by_account(booked, size) == accounts
    assert by_group(booked, size) == groups

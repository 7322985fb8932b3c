"""Random settlements against exact rationals: no transaction drifts, and no sum over many of them."""

from collections.abc import Mapping
from datetime import timedelta
from decimal import Decimal
from random import Random

import pytest

from aex_models.contract import Terms
from aex_models.cost import cost
from aex_models.governance import Action, GovernanceResult
from aex_models.money import from_micros
from aex_models.results import Verdict, VerificationResult
from aex_models.settlement import Cost, LedgerTransaction, Settlement
from aex_models.work import BasePolicy
from aex_runtime.store.port import Document
from aex_settlement.repository.ledger import TRANSACTIONS
from aex_settlement.repository.projections import ACCOUNT_PAGES, BALANCES, DAYS, ROLLUPS
from aex_settlement.rules.account_books import AccountUpdates, SealedBatch
from aex_settlement.rules.journal import JournalHead, SealedTransaction, build_next_batch, head_of
from aex_settlement.rules.projections import Rollup
from aex_settlement.rules.rollups import Group, build_updated_rollup, compute_rollup_changes
from aex_settlement.rules.transactions import build_reversal_transaction, build_settlement_transaction
from tests.libs.models.rationals import exact
from tests.libs.models.results import a_result
from tests.services.settlement.journal.recount import plain, recount
from tests.services.settlement.journal.wholeness import Journal
from tests.services.settlement.outcomes import NOON, a_settlement

FIGURES = {
    "cpc": "base",
    "cpa_bonus": "bonus",
    "cpa_penalty": "penalty",
    "total": "total",
    "fee": "fee",
    "bonus_capped": "bonus_capped",
    "penalty_waived": "penalty_waived",
}
"""The figures of a booking, and what the formulas call them."""
LARGEST = 10**15
"""The largest single amount, in micros."""
STORED, REVERSED = 0.02, 0.1
"""The shares of transactions that are encoded and decoded, and of settlements that are reversed."""
REPEATED = 6
"""So many settlements, on average, have the same cost; they differ in parties, domain and day."""
BATCH = 4_000


def an_amount(chance: Random) -> Decimal:
    large, small = LARGEST - chance.randrange(2), chance.randrange(10 ** chance.randrange(1, 16))
    return from_micros(chance.choice([0, 1, chance.randrange(100), large, chance.randrange(5_000_000), small]))


def some_terms(chance: Random) -> Terms:
    return Terms(
        cpc_rate=an_amount(chance),
        max_cpa_total=chance.choice([None, Decimal(0), an_amount(chance)]),
        max_penalty_total=chance.choice([None, Decimal(0), an_amount(chance)]),
        base_policy=chance.choice(list(BasePolicy)),
        currency=chance.choice(["USD", "EUR", "JPY"]),
        fee_rate=from_micros(chance.choice([0, 1, 500_000, 10**6, chance.randrange(10**6 + 1)])),
    )


def some_result(chance: Random) -> VerificationResult:
    return a_result(
        verdict=chance.choice(list(Verdict)),
        success=chance.random() < 0.5,
        bonus=an_amount(chance),
        penalty=an_amount(chance),
        governance=GovernanceResult(action=chance.choice(list(Action))),
    )


def expected_postings(settlement: Settlement, micros: Mapping[str, int]) -> dict[str, int]:
    """By account: consumer +total, agent −(total − fee), fees −fee where there is one."""
    parties = {f"consumer:{settlement.consumer_id}": micros["total"]}
    parties[f"agent:{settlement.agent_id}"] = micros["fee"] - micros["total"]
    return parties | {"platform:fees": -micros["fee"]} if micros["fee"] else parties


def some_cost(chance: Random) -> tuple[bool, Cost, dict[str, int]]:
    """Return whether a random result succeeded, its cost by random terms, and the rationals in micros."""
    terms, result = some_terms(chance), some_result(chance)
    rationals = {name: amount * 10**6 for name, amount in exact(terms, result).items()}
    assert all(each.denominator == 1 for each in rationals.values())
    return result.success, cost(terms, result), {name: each.numerator for name, each in rationals.items()}


def posted(settlement: Settlement, micros: Mapping[str, int], chance: Random, sign: int) -> LedgerTransaction:
    """Make a settlement's transaction (`sign` 1) or its reversal (−1), and compare it with the rationals."""
    make = build_settlement_transaction if sign == 1 else build_reversal_transaction
    at = NOON + timedelta(seconds=chance.randrange(100 * 86_400))
    made = make(settlement, 1, settlement.cost, at, "drawn at random", "service:settlement")
    if chance.random() < STORED:
        body, fields = TRANSACTIONS.encode(made)
        assert TRANSACTIONS.decode(Document("key", body, fields, 1)).record == made
    found: dict[str, int] = {each.account: each.amount for each in made.postings}
    assert found == {account: sign * amount for account, amount in expected_postings(settlement, micros).items()}
    assert (sum(found.values()), {each.currency for each in made.postings}) == (0, {settlement.cost.currency})
    assert made.booking is not None
    assert (made.booking.count, made.booking.success_count) == (sign, sign * settlement.success)
    for figure, name in FIGURES.items():
        assert getattr(made.booking, figure) == sign * micros[name], figure
    return made


def settle_at_random(count: int, seed: int) -> list[LedgerTransaction]:
    chance, template, transactions = Random(seed), a_settlement(), list[LedgerTransaction]()
    costs = [some_cost(chance) for _ in range(count // REPEATED)]
    for number in range(count):
        success, amounts, micros = chance.choice(costs)
        changes = {
            "contract_id": f"ctr_{number}",
            "agent_id": chance.choice(["bot", "crew/two", "acme"]),
            "consumer_id": chance.choice(["acme", "globex"]),
            "domain": chance.choice(["news", ""]),
            "success": success,
            "cost": amounts,
        }
        settlement = template.model_copy(update=changes)
        transactions.append(posted(settlement, micros, chance, 1))
        if chance.random() < REVERSED:
            transactions.append(posted(settlement, micros, chance, -1))
    return transactions


LEDGERS = [(2_000, 1), *(pytest.param(25_000, seed, marks=pytest.mark.slow) for seed in (2, 3, 4, 5))]
"""Settlements and seed; 100,000 together (spec file 9)."""


@pytest.mark.parametrize(("count", "seed"), LEDGERS)
def test_random_settlements_do_not_drift(count: int, seed: int) -> None:
    transactions = settle_at_random(count, seed)
    assert len(transactions) > count * 1.05
    books, journal, head = AccountUpdates("g1", {}, {}), Journal(), JournalHead(seq=0)
    rollups: dict[Group, Rollup] = {}
    for first in range(0, len(transactions), BATCH):
        together = transactions[first : first + BATCH]
        sealed = [SealedTransaction(id=each.id, digest="0" * 64) for each in together]
        batch = build_next_batch(head, sealed, NOON + timedelta(minutes=10) * head.seq)
        head = head_of(batch)
        journal.batches.append(batch)
        journal.transactions.append(together)
        books.post_batch(SealedBatch(batch, together))
        for group, days in compute_rollup_changes(together).items():
            rollups[group] = build_updated_rollup("g1", group, rollups.get(group), days)
    expected = recount(journal, head.seq)
    assert plain(books.balances.values()) == sorted(expected[BALANCES.collection.name])
    assert plain(books.days.values()) == sorted(expected[DAYS.collection.name])
    assert plain(books.pages) == sorted(expected[ACCOUNT_PAGES.collection.name])
    assert plain(rollups.values()) == sorted(expected[ROLLUPS.collection.name])

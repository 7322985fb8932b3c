"""A cost becomes postings that sum to zero, without drift against exact rationals."""

import random
from collections import Counter
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given, settings

from aex_models.contract import Terms
from aex_models.cost import cost
from aex_models.governance import Action, GovernanceResult
from aex_models.money import MAX_AMOUNT, from_micros
from aex_models.numbers import MAX_SAFE_INTEGER
from aex_models.outcome import OutcomeRecord
from aex_models.results import Verdict
from aex_models.settlement import Cost, sums_by_currency
from aex_models.work import BasePolicy
from aex_settlement.rules.postings import settlement_postings
from aex_settlement.rules.recompute import recomputed_cost
from tests.libs.models.rationals import exact
from tests.libs.models.results import a_result
from tests.services.settlement.outcomes import outcomes


@given(outcomes())
@settings(max_examples=300)
def test_every_settlement_sums_to_zero_and_pays_what_it_costs(outcome: OutcomeRecord) -> None:
    amounts = recomputed_cost(outcome)
    postings = settlement_postings(amounts, outcome.consumer_id, outcome.agent_id)
    assert sums_by_currency(postings) == {amounts.currency: 0}
    assert amounts.base + amounts.bonus - amounts.penalty == amounts.total
    paid = {posting.account: posting.amount for posting in postings}
    total, fee = Fraction(amounts.total) * 10**6, Fraction(amounts.fee) * 10**6
    assert paid[f"consumer:{outcome.consumer_id}"] == total
    assert paid[f"agent:{outcome.agent_id}"] == fee - total
    assert paid.get("platform:fees", 0) == -fee
    if outcome.verification_result is not None:
        assert Fraction(amounts.total) == exact(outcome.terms, outcome.verification_result)["total"]


def _settle_at_random(count: int, seed: int) -> None:
    """Settle `count` random results of three consumers with two agents; compare every balance with its rational."""
    chance = random.Random(seed)
    micros, expected = Counter[tuple[str, str]](), dict[tuple[str, str], Fraction]()
    for _ in range(count):
        agreed, amounts = _a_random_cost(chance)
        consumer, agent = f"c{chance.randrange(3)}", f"a{chance.randrange(2)}"
        postings = settlement_postings(amounts, consumer, agent)
        assert sum(posting.amount for posting in postings) == 0
        for posting in postings:
            micros[posting.account, posting.currency] += posting.amount
        total = Fraction(amounts.total)
        fee = Fraction(round(total * Fraction(agreed.fee_rate) * 10**6), 10**6)
        for account, amount in (
            (f"consumer:{consumer}", total),
            (f"agent:{agent}", fee - total),
            ("platform:fees", -fee),
        ):
            key = (account, amounts.currency)
            expected[key] = expected.get(key, Fraction(0)) + amount
    found = {key: Fraction(amount, 10**6) for key, amount in micros.items()}
    assert found == {key: amount for key, amount in expected.items() if key in found}
    assert all(amount == 0 for key, amount in expected.items() if key not in found)
    for currency in ("USD", "EUR"):
        assert sum(amount for (_, each), amount in found.items() if each == currency) == 0


def _a_random_cost(chance: random.Random) -> tuple[Terms, Cost]:
    def amount() -> Decimal:
        return from_micros(chance.randrange(10 ** chance.randrange(1, 16)))

    agreed = Terms(
        cpc_rate=amount(),
        max_cpa_total=chance.choice([None, amount()]),
        max_penalty_total=chance.choice([None, amount()]),
        base_policy=chance.choice(list(BasePolicy)),
        currency=chance.choice(["USD", "EUR"]),
        fee_rate=from_micros(chance.randrange(10**6 + 1)),
    )
    result = a_result(
        verdict=chance.choice(list(Verdict)),
        success=chance.random() < 0.5,
        bonus=amount(),
        penalty=amount(),
        governance=GovernanceResult(action=chance.choice(list(Action))),
    )
    amounts = cost(agreed, result)
    for name, rational in exact(agreed, result).items():
        assert Fraction(getattr(amounts, name)) == rational, name
    return agreed, amounts


def test_two_thousand_random_settlements_do_not_drift() -> None:
    _settle_at_random(2_000, seed=1)


@pytest.mark.slow
def test_a_hundred_thousand_random_settlements_do_not_drift() -> None:
    _settle_at_random(100_000, seed=2)


def test_a_settlement_of_nothing_still_posts_both_parties() -> None:
    amounts = cost(Terms(cpc_rate=Decimal(1)), None, "ctr_1")
    assert [(each.account, each.amount) for each in settlement_postings(amounts, "acme", "bot")] == [
        ("consumer:acme", 0),
        ("agent:bot", 0),
    ]


def test_the_largest_settlement_fits_into_a_posting() -> None:
    amounts = cost(Terms(cpc_rate=MAX_AMOUNT, fee_rate=Decimal("0.000001")), a_result(bonus=MAX_AMOUNT))
    assert max(abs(each.amount) for each in settlement_postings(amounts, "acme", "bot")) < MAX_SAFE_INTEGER


def test_one_principal_may_be_on_both_sides() -> None:
    postings = settlement_postings(cost(Terms(cpc_rate=Decimal(2)), a_result()), "acme", "acme")
    assert [(each.account, each.amount) for each in postings] == [
        ("consumer:acme", 2_000_000),
        ("agent:acme", -2_000_000),
    ]

"""A cost becomes postings that sum to zero, without drift against exact rationals."""

from decimal import Decimal
from fractions import Fraction

from hypothesis import given, settings

from aex_models.contract import Terms
from aex_models.cost import cost
from aex_models.money import MAX_AMOUNT
from aex_models.numbers import MAX_SAFE_INTEGER
from aex_models.outcome import OutcomeRecord
from aex_models.settlement import sum_micros_by_currency
from aex_settlement.rules.settlements import check_outcome_and_recompute_cost
from aex_settlement.rules.transactions import settlement_postings
from tests.examples import examples
from tests.libs.models.rationals import exact
from tests.libs.models.results import a_result
from tests.services.settlement.outcomes import outcomes


@given(outcomes())
@settings(max_examples=examples(300))
def test_every_settlement_sums_to_zero_and_pays_what_it_costs(outcome: OutcomeRecord) -> None:
    amounts = check_outcome_and_recompute_cost(outcome)
    postings = settlement_postings(amounts, outcome.consumer_id, outcome.agent_id)
    assert sum_micros_by_currency(postings) == {amounts.currency: 0}
    assert amounts.base + amounts.bonus - amounts.penalty == amounts.total
    paid = {posting.account: posting.amount for posting in postings}
    total, fee = Fraction(amounts.total) * 10**6, Fraction(amounts.fee) * 10**6
    assert paid[f"consumer:{outcome.consumer_id}"] == total
    assert paid[f"agent:{outcome.agent_id}"] == fee - total
    assert paid.get("platform:fees", 0) == -fee
    if outcome.verification_result is not None:
        assert Fraction(amounts.total) == exact(outcome.terms, outcome.verification_result)["total"]


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

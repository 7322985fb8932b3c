"""Costs that add up and transactions that balance; nothing else can be written down."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from aex_models.audiences import Audience, Disclosure, project
from aex_models.cost import cost
from aex_models.numbers import MAX_SAFE_INTEGER
from aex_models.settlement import (
    Cost,
    LedgerTransaction,
    Posting,
    TransactionKind,
    TransactionRequest,
    sums_by_currency,
)
from aex_models.work import FeedbackLevel
from tests.libs.models.results import a_criterion, a_result, terms

NOW = datetime(2025, 3, 1, tzinfo=UTC)


def a_posting(amount: int, account: str = "consumer:acme", currency: str = "USD") -> Posting:
    return Posting(account=account, amount=amount, currency=currency)


def a_transaction(*postings: Posting) -> LedgerTransaction:
    return LedgerTransaction(id="txn_1", kind=TransactionKind.ADJUSTMENT, postings=postings, occurred_at=NOW)


@given(st.lists(st.tuples(st.sampled_from(["USD", "EUR"]), st.integers(-(10**12), 10**12)), min_size=2, max_size=8))
def test_a_transaction_is_written_only_where_each_currency_sums_to_zero(sides: list[tuple[str, int]]) -> None:
    postings = [a_posting(amount, currency=currency) for currency, amount in sides]
    sums = {currency: sum(amount for each, amount in sides if each == currency) for currency, _ in sides}
    assert sums_by_currency(postings) == sums
    if any(sums.values()):
        with pytest.raises(ValidationError, match="do not sum to zero"):
            a_transaction(*postings)
    else:
        a_transaction(*postings)


@given(st.lists(st.integers(-(10**12), 10**12), min_size=1, max_size=8))
def test_a_transaction_with_its_counterpart_balances(amounts: list[int]) -> None:
    postings = [a_posting(amount) for amount in amounts]
    whole = a_transaction(*postings, a_posting(-sum(amounts), "platform:cash"))
    assert sums_by_currency(whole.postings) == {"USD": 0}


def test_currencies_do_not_make_up_for_each_other() -> None:
    with pytest.raises(ValidationError, match="do not sum to zero"):
        a_transaction(a_posting(5), a_posting(-5, currency="EUR"))


def test_a_transaction_has_two_sides() -> None:
    with pytest.raises(ValidationError, match="at least 2"):
        a_transaction(a_posting(0))


@pytest.mark.parametrize("amount", ["5", 5.0, True, MAX_SAFE_INTEGER + 1, -MAX_SAFE_INTEGER - 1])
def test_a_posting_takes_integer_micros_that_json_holds(amount: Any) -> None:
    with pytest.raises(ValidationError):
        Posting(account="platform:cash", amount=amount, currency="USD")


@pytest.mark.parametrize(
    "change",
    [
        {"total": "9.00"},
        {"base": "9.00"},
        {"fee": "100.00"},
        {"breakdown": {"cpc": "0", "cpa_bonus": "1.00", "cpa_penalty": "0"}},
    ],
)
def test_a_cost_that_does_not_add_up_cannot_be_written(change: dict[str, Any]) -> None:
    sound = {
        "contract_id": "ctr_1", "currency": "USD", "base": "1.00", "bonus": "0", "penalty": "0", "bonus_capped": "0",
        "penalty_waived": "0", "fee": "0", "total": "1.00",
        "breakdown": {"cpc": "1.00", "cpa_bonus": "0", "cpa_penalty": "0"},
    }  # fmt: skip
    Cost.model_validate(sound)
    with pytest.raises(ValidationError, match=r"is not the total|exceeds the total"):
        Cost.model_validate(sound | change)


@pytest.mark.parametrize("kind", ["settlement", "reversal", "gift"])
def test_only_deposits_and_adjustments_can_be_asked_for(kind: str) -> None:
    postings = [{"account": "platform:cash", "amount": 1, "currency": "USD"}] * 2
    with pytest.raises(ValidationError, match="kind"):
        TransactionRequest.model_validate({"kind": kind, "postings": postings, "reason": "because"})


@given(terms)
def test_a_secret_value_reaches_the_agent_at_full_feedback_alone(agreed: Any) -> None:
    amounts = cost(agreed, a_result(criterion_results=(a_criterion(secret=True), a_criterion("output_length"))))

    def values(audience: Audience, level: FeedbackLevel) -> list[bool]:
        return ["value" in line for line in project(amounts, audience, Disclosure(level=level))["lines"]]

    assert values(Audience.AGENT, FeedbackLevel.CRITERIA) == [False, True]
    assert values(Audience.AGENT, FeedbackLevel.NONE) == [False, False]
    assert values(Audience.AGENT, FeedbackLevel.FULL) == [True, True]
    assert values(Audience.CONSUMER, FeedbackLevel.NONE) == [True, True]
    assert values(Audience.FINANCE, FeedbackLevel.NONE) == [True, True]


@pytest.mark.parametrize("postings", [[], [{"account": "agent:a", "amount": 1, "currency": "USD"}]])
def test_a_transaction_of_fewer_than_two_postings_is_refused_once(postings: list[Any]) -> None:
    with pytest.raises(ValidationError, match="At least two postings are needed") as refused:
        TransactionRequest.model_validate({"kind": "adjustment", "postings": postings, "reason": "a correction"})
    assert len(refused.value.errors()) == 1

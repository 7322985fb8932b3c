"""Costs that add up and transactions that balance; nothing else can be written down."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError

from aex_models.audiences import Audience, Disclosure, project
from aex_models.contract import Terms
from aex_models.cost import cost
from aex_models.numbers import MAX_SAFE_INTEGER
from aex_models.settlement import (
    Cost,
    LedgerTransaction,
    Posting,
    TransactionKind,
    TransactionRequest,
    sum_micros_by_currency,
)
from aex_models.work import FeedbackLevel
from tests.libs.models.results import a_criterion, a_result

NOW = datetime(2025, 3, 1, tzinfo=UTC)


def a_posting(amount: int, account: str = "consumer:acme", currency: str = "USD") -> Posting:
    return Posting(account=account, amount=amount, currency=currency)


def a_transaction(*postings: Posting) -> LedgerTransaction:
    return LedgerTransaction(id="txn_1", kind=TransactionKind.ADJUSTMENT, postings=postings, occurred_at=NOW)


@given(
    st.lists(st.tuples(st.sampled_from(["USD", "EUR"]), st.integers(-(10**12), 10**12)), min_size=2, max_size=8),
    st.booleans(),
)
@example([("USD", 5), ("EUR", -5)], False)
def test_transaction_requires_a_sum_of_zero_in_each_currency(sides: list[tuple[str, int]], balanced: bool) -> None:
    sides = sides + [(currency, -amount) for currency, amount in sides] if balanced else sides
    postings = [a_posting(amount, currency=currency) for currency, amount in sides]
    sums = {currency: sum(amount for each, amount in sides if each == currency) for currency, _ in sides}
    assert sum_micros_by_currency(postings) == sums
    if any(sums.values()):
        with pytest.raises(ValidationError, match="do not sum to zero"):
            a_transaction(*postings)
    else:
        a_transaction(*postings)


def test_transaction_has_two_postings() -> None:
    with pytest.raises(ValidationError, match="at least 2"):
        a_transaction(a_posting(0))


@pytest.mark.parametrize("amount", ["5", 5.0, True, MAX_SAFE_INTEGER + 1, -MAX_SAFE_INTEGER - 1])
def test_posting_accepts_only_safe_integers(amount: Any) -> None:
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
def test_cost_that_does_not_add_up_is_refused(change: dict[str, Any]) -> None:
    sound = {
        "contract_id": "ctr_1", "currency": "USD", "base": "1.00", "bonus": "0", "penalty": "0", "bonus_capped": "0",
        "penalty_waived": "0", "fee": "0", "total": "1.00",
        "breakdown": {"cpc": "1.00", "cpa_bonus": "0", "cpa_penalty": "0"},
    }  # fmt: skip
    Cost.model_validate(sound)
    with pytest.raises(ValidationError, match=r"is not the total|exceeds the total"):
        Cost.model_validate(sound | change)


@pytest.mark.parametrize("kind", ["settlement", "reversal", "gift"])
def test_request_accepts_only_deposits_and_adjustments(kind: str) -> None:
    postings = [{"account": "platform:cash", "amount": 1, "currency": "USD"}] * 2
    with pytest.raises(ValidationError, match="kind"):
        TransactionRequest.model_validate({"kind": kind, "postings": postings, "reason": "because"})


@pytest.mark.parametrize(
    ("audience", "level", "expected"),
    [
        (Audience.AGENT, FeedbackLevel.CRITERIA, [False, True]),
        (Audience.AGENT, FeedbackLevel.NONE, [False, False]),
        (Audience.AGENT, FeedbackLevel.FULL, [True, True]),
        (Audience.CONSUMER, FeedbackLevel.NONE, [True, True]),
        (Audience.FINANCE, FeedbackLevel.NONE, [True, True]),
    ],
)
def test_agent_sees_secret_values_only_at_level_full(
    audience: Audience, level: FeedbackLevel, expected: list[bool]
) -> None:
    criteria = (a_criterion(secret=True), a_criterion("output_length"))
    amounts = cost(Terms(cpc_rate=Decimal(1)), a_result(criterion_results=criteria))
    lines = project(amounts, audience, Disclosure(level=level, output=True))["lines"]
    assert ["value" in line for line in lines] == expected
    assert [line["amount"] for line in lines] == ["0.00", "0.00"]


@pytest.mark.parametrize("postings", [[], [{"account": "agent:a", "amount": 1, "currency": "USD"}]])
def test_request_with_one_posting_has_one_problem(postings: list[Any]) -> None:
    with pytest.raises(ValidationError, match="At least two postings are needed") as refused:
        TransactionRequest.model_validate({"kind": "adjustment", "postings": postings, "reason": "a correction"})
    assert len(refused.value.errors()) == 1

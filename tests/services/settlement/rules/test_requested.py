"""Deposits and adjustments: everything that is wrong is said at once."""

import pytest

from aex_models.settlement import Posting, TransactionKind, TransactionRequest
from aex_settlement.rules.transactions import find_request_problems, is_account_name, is_consumer_account


def found(kind: str, *sides: tuple[str, int] | tuple[str, int, str]) -> list[tuple[str, str]]:
    postings = tuple(
        Posting(account=side[0], amount=side[1], currency=side[2] if len(side) > 2 else "USD") for side in sides
    )
    request = TransactionRequest.model_validate({"kind": kind, "postings": postings, "reason": "because"})
    return [(problem.path, problem.code) for problem in find_request_problems(request)]


@pytest.mark.parametrize(
    ("kind", "sides", "expected"),
    [
        ("deposit", [("platform:cash", 5), ("consumer:acme", -5)], []),
        ("deposit", [("platform:cash", 5), ("consumer:acme", -3), ("consumer:globex", -2)], []),
        ("deposit", [("platform:cash", -5), ("consumer:acme", 5)], ["0/amount", "1/amount"]),
        ("deposit", [("platform:cash", 5), ("agent:bot", -5)], ["1/account"]),
        ("adjustment", [("agent:bot", 5), ("platform:fees", -4), ("consumer:acme", -1)], []),
    ],
)
def test_deposit_is_from_cash_to_consumers_and_an_adjustment_between_any(
    kind: str, sides: list[tuple[str, int]], expected: list[str]
) -> None:
    assert found(kind, *sides) == [(f"/postings/{path}", "not_a_deposit") for path in expected]


@pytest.mark.parametrize("account", ["consumer:acme/entries", "consumer:/entries", "consumer:a/entries/entries"])
@pytest.mark.parametrize("kind", ["deposit", "adjustment"])
def test_an_account_that_cannot_be_read_is_not_posted_to(kind: str, account: str) -> None:
    assert found(kind, ("platform:cash", 5), (account, -5)) == [("/postings/1/account", "unreadable_account")]
    assert found(kind, ("platform:cash", 5), ("consumer:entries", -5)) == []
    assert found(kind, ("platform:cash", 5), ("consumer:acme/entries/x", -5)) == []


def test_a_currency_is_one_of_iso_4217() -> None:
    assert found("adjustment", ("agent:bot", 5, "QQQ"), ("consumer:acme", -5, "QQQ")) == [
        ("/postings/0/currency", "unknown_currency"),
        ("/postings/1/currency", "unknown_currency"),
    ]
    assert found("adjustment", ("agent:bot", 5, "JPY"), ("consumer:acme", -5, "JPY")) == []


def test_unbalanced_transaction_names_its_sum() -> None:
    request = TransactionRequest(
        kind=TransactionKind.ADJUSTMENT,
        postings=(
            Posting(account="agent:bot", amount=1_500_000, currency="USD"),
            Posting(account="consumer:acme", amount=-1_000_000, currency="USD"),
        ),
        reason="because",
    )
    assert [problem.message for problem in find_request_problems(request)] == [
        "Postings sum to +500000 micros (0.50 USD), not to 0"
    ]


def test_currencies_are_not_mixed() -> None:
    assert found("adjustment", ("agent:bot", 5, "EUR"), ("consumer:acme", -5, "USD")) == [
        ("/postings", "mixed_currencies")
    ]


def test_everything_wrong_comes_in_one_answer() -> None:
    assert found("adjustment", ("bot", 5), ("agent:", 0), ("platform:gold", -4)) == [
        ("/postings/0/account", "unknown_account"),
        ("/postings/1/account", "unknown_account"),
        ("/postings/1/amount", "zero_amount"),
        ("/postings/2/account", "unknown_account"),
        ("/postings", "unbalanced"),
    ]


@pytest.mark.parametrize("name", ["consumer:acme", "agent:org/bot-1@x.y", "platform:cash", "platform:fees"])
def test_accounts_have_these_names(name: str) -> None:
    assert is_account_name(name)
    assert is_consumer_account(name) == name.startswith("consumer:")


@pytest.mark.parametrize(
    "name",
    [
        "", "acme", "consumer:", "consumer:a b", "platform:gold", "platform:cash\n", "Consumer:acme", "service:x",
        "consumer:" + "a" * 129,
    ],
)  # fmt: skip
def test_no_other_name_is_an_account(name: str) -> None:
    assert not is_account_name(name)
    assert not is_consumer_account(name)

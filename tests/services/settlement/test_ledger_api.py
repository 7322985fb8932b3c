"""The ledger: deposits and adjustments by finance, and what it does not take."""

import asyncio
from typing import Any

import pytest

from aex_models.audiences import Audience
from aex_runtime.identity.principals import Principal
from tests.services.settlement.books import a_deposit, balances
from tests.services.settlement.counter import Counter
from tests.services.settlement.ledger_kit import ACME, BOT, FINANCE


async def test_finance_posts_a_deposit(counter: Counter) -> None:
    answer = await counter.post(FINANCE, "/v1/ledger/transactions", a_deposit())
    assert answer.status_code == 201, answer.text
    posted = answer.json()
    assert posted.pop("id").startswith("txn_")
    assert posted == {
        "contract_id": None,
        "kind": "deposit",
        "postings": a_deposit()["postings"],
        "occurred_at": "2025-03-01T12:00:00Z",
        "reason": "wire 4711",
        "by": "ledger-desk",
    }
    await counter.seal()
    assert balances(await counter.read(ACME, "/v1/accounts/consumer:acme")) == {"consumer:acme USD": "-100.00"}


async def test_an_adjustment_moves_money_between_accounts(counter: Counter) -> None:
    body = {
        "kind": "adjustment",
        "postings": [
            {"account": "platform:fees", "amount": 500_000, "currency": "USD"},
            {"account": "agent:bot", "amount": -500_000, "currency": "USD"},
        ],
        "reason": "goodwill",
    }
    assert (await counter.post(FINANCE, "/v1/ledger/transactions", body)).status_code == 201
    await counter.seal()
    (entry,) = (await counter.read(BOT, "/v1/accounts/agent:bot/entries"))["items"]
    assert (entry["kind"], entry["amount"], entry["reason"]) == ("adjustment", -500_000, "goodwill")


async def test_only_finance_posts(counter: Counter) -> None:
    assert (await counter.post(None, "/v1/ledger/transactions", a_deposit())).status_code == 401
    for role in set(Audience) - {Audience.FINANCE}:
        answer = await counter.post(Principal("acme", role), "/v1/ledger/transactions", a_deposit())
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden_role")
    assert await counter.ledger.transactions() == []


async def test_one_idempotency_key_has_one_effect(counter: Counter) -> None:
    first = await counter.post(FINANCE, "/v1/ledger/transactions", a_deposit(), key="wire-4711")
    repeated = await counter.post(FINANCE, "/v1/ledger/transactions", a_deposit(), key="wire-4711")
    assert (first.status_code, repeated.status_code) == (201, 201)
    assert repeated.json() == first.json()
    assert "Idempotent-Replayed" not in first.headers
    assert repeated.headers["Idempotent-Replayed"] == "true"
    other = await counter.post(FINANCE, "/v1/ledger/transactions", a_deposit(1), key="wire-4711")
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")
    assert len(await counter.ledger.transactions()) == 1


async def test_many_concurrent_requests_with_one_key_have_one_effect(counter: Counter) -> None:
    answers = await asyncio.gather(
        *(counter.post(FINANCE, "/v1/ledger/transactions", a_deposit(), key="k") for _ in range(20))
    )
    assert {answer.status_code for answer in answers} <= {201, 409}
    assert len({answer.json()["id"] for answer in answers if answer.status_code == 201}) == 1
    assert len(await counter.ledger.transactions()) == 1


def with_postings(*sides: tuple[Any, ...], kind: str = "adjustment") -> dict[str, Any]:
    postings = [dict(zip(("account", "amount", "currency"), side, strict=True)) for side in sides]
    return {"kind": kind, "postings": postings, "reason": "because"}


@pytest.mark.parametrize(
    ("body", "status", "code", "path"),
    [
        (with_postings(("agent:bot", 5, "USD"), ("agent:crew", -4, "USD")), 400, "unbalanced", "/postings"),
        (with_postings(("agent:bot", 5, "USD"), ("agent:crew", -5, "EUR")), 400, "mixed_currencies", "/postings"),
        (with_postings(("bot", 5, "USD"), ("agent:crew", -5, "USD")), 400, "unknown_account", "/postings/0/account"),
        (
            with_postings(("agent:bot", 5, "USD"), ("platform:gold", -5, "USD")),
            400,
            "unknown_account",
            "/postings/1/account",
        ),
        (
            with_postings(("platform:cash", 5, "USD"), ("agent:bot", -5, "USD"), kind="deposit"),
            400,
            "not_a_deposit",
            "/postings/1/account",
        ),
        (with_postings(("agent:bot", 5, "USD")), 422, "too_short", "/postings"),
        (with_postings(("agent:bot", "5.00", "USD"), ("agent:crew", -5, "USD")), 422, "int_type", "/postings/0/amount"),
        (with_postings(("agent:bot", 5.5, "USD"), ("agent:crew", -5, "USD")), 422, "int_type", "/postings/0/amount"),
        (
            with_postings(("agent:bot", 5, "usd"), ("agent:crew", -5, "USD")),
            422,
            "string_pattern_mismatch",
            "/postings/0/currency",
        ),
        (a_deposit() | {"kind": "settlement"}, 422, "literal_error", "/kind"),
        (a_deposit() | {"reason": ""}, 422, "string_too_short", "/reason"),
        (a_deposit() | {"note": "x"}, 422, "extra_forbidden", "/note"),
    ],
)
async def test_refused_postings_name_their_problems(
    counter: Counter, body: dict[str, Any], status: int, code: str, path: str
) -> None:
    answer = await counter.post(FINANCE, "/v1/ledger/transactions", body)
    assert answer.status_code == status, answer.text
    assert [(problem["path"], problem["code"]) for problem in answer.json()["errors"]] == [(path, code)], answer.text
    assert await counter.ledger.transactions() == []


async def test_unbalanced_transaction_response_names_its_sum(counter: Counter) -> None:
    body = with_postings(("agent:bot", 5_000_000, "USD"), ("agent:crew", -4_500_000, "USD"))
    problem = (await counter.post(FINANCE, "/v1/ledger/transactions", body)).json()
    assert problem["detail"] == "Postings sum to +500000 micros (0.50 USD), not to 0"

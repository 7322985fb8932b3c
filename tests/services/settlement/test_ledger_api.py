"""The ledger: deposits and adjustments by finance, and what it does not take."""

from typing import Any

import pytest

from tests.services.settlement.counter import Counter, a_deposit, balances
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
    assert balances((await counter.read(ACME, "/v1/accounts/consumer:acme"))["balances"]) == {
        "consumer:acme USD": "-100.00"
    }


async def test_an_adjustment_moves_money_between_accounts(counter: Counter) -> None:
    body = an_adjustment(("platform:fees", 500_000), ("agent:bot", -500_000))
    assert (await counter.post(FINANCE, "/v1/ledger/transactions", body)).status_code == 201
    await counter.seal()
    (entry,) = (await counter.read(BOT, "/v1/accounts/agent:bot/entries"))["items"]
    assert (entry["kind"], entry["amount"], entry["reason"]) == ("adjustment", -500_000, "goodwill")


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


@pytest.mark.parametrize("path", ["/v1/ledger/transactions", "/v1/settlements/ctr_1/reversals"])
async def test_a_request_that_moves_money_needs_an_idempotency_key(counter: Counter, path: str) -> None:
    await counter.settle("ctr_1")
    headers = {"Authorization": f"Bearer {counter.issuer.mint(FINANCE.id, FINANCE.role)}"}
    bodies: list[Any] = [a_deposit(), {"reason": "booked twice"}, {"kind": 7}, []]
    for body in bodies:
        answer = await counter.client.post(path, json=body, headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (400, "idempotency_key_required"), answer.text
        assert "send an Idempotency-Key" in answer.json()["detail"]
    empty = await counter.client.post(path, json=a_deposit(), headers={**headers, "Idempotency-Key": ""})
    assert (empty.status_code, empty.json()["code"]) == (400, "invalid_idempotency_key")
    assert len(await counter.ledger.transactions()) == 1
    [parameter] = [
        each
        for each in counter.app.openapi()["paths"][path.replace("ctr_1", "{contract_id}")]["post"]["parameters"]
        if each["name"] == "Idempotency-Key"
    ]
    assert (parameter["in"], parameter["required"], parameter["schema"]["maxLength"]) == ("header", True, 255)


async def test_a_caller_without_the_role_is_refused_before_its_key_is_missed(counter: Counter) -> None:
    for who, status in ((None, 401), (ACME, 403), (BOT, 403)):
        bearer = {} if who is None else {"Authorization": f"Bearer {counter.issuer.mint(who.id, who.role)}"}
        answer = await counter.client.post("/v1/ledger/transactions", json=a_deposit(), headers=bearer)
        assert answer.status_code == status


def an_adjustment(*sides: tuple[str, Any]) -> dict[str, Any]:
    postings = [{"account": account, "amount": amount, "currency": "USD"} for account, amount in sides]
    return {"kind": "adjustment", "postings": postings, "reason": "goodwill"}


@pytest.mark.parametrize(
    ("body", "status", "code", "path"),
    [
        (an_adjustment(("agent:bot", 5), ("agent:crew", -4)), 400, "unbalanced", "/postings"),
        (an_adjustment(("agent:bot", 5)), 422, "too_short", "/postings"),
        (an_adjustment(("agent:bot", "5.00"), ("agent:crew", -5)), 422, "int_type", "/postings/0/amount"),
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

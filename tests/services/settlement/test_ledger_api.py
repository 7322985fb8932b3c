"""The ledger: deposits and adjustments by finance, accounts for their owners, a trial balance that is always zero."""

import asyncio
from collections import defaultdict
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from aex_models.audiences import Audience
from aex_models.contract import Terms
from aex_runtime.identity.principal import Principal
from tests.services.settlement.counter import Counter
from tests.services.settlement.desk import ACME, BOT, FINANCE, GLOBEX


def a_deposit(micros: int = 100_000_000, consumer: str = "acme", currency: str = "USD") -> dict[str, Any]:
    return {
        "kind": "deposit",
        "postings": [
            {"account": "platform:cash", "amount": micros, "currency": currency},
            {"account": f"consumer:{consumer}", "amount": -micros, "currency": currency},
        ],
        "reason": "wire 4711",
    }


def balances(answer: Any) -> dict[str, str]:
    rows = answer["accounts"] if "accounts" in answer else answer["balances"]
    return {f"{row['account']} {row['currency']}": row["balance"] for row in rows}


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
    (entry,) = (await counter.read(BOT, "/v1/accounts/agent:bot/entries"))["items"]
    assert (entry["kind"], entry["amount"], entry["reason"]) == ("adjustment", -500_000, "goodwill")


async def test_nobody_but_finance_posts(counter: Counter) -> None:
    assert (await counter.post(None, "/v1/ledger/transactions", a_deposit())).status_code == 401
    for role in set(Audience) - {Audience.FINANCE}:
        answer = await counter.post(Principal("acme", role), "/v1/ledger/transactions", a_deposit())
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden_role")
    assert await counter.desk.transactions() == []


async def test_one_idempotency_key_has_one_effect(counter: Counter) -> None:
    first = await counter.post(FINANCE, "/v1/ledger/transactions", a_deposit(), key="wire-4711")
    again = await counter.post(FINANCE, "/v1/ledger/transactions", a_deposit(), key="wire-4711")
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.json() == first.json()
    assert "Idempotent-Replayed" not in first.headers
    assert again.headers["Idempotent-Replayed"] == "true"
    other = await counter.post(FINANCE, "/v1/ledger/transactions", a_deposit(1), key="wire-4711")
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")
    assert len(await counter.desk.transactions()) == 1


async def test_many_concurrent_requests_with_one_key_have_one_effect(counter: Counter) -> None:
    answers = await asyncio.gather(
        *(counter.post(FINANCE, "/v1/ledger/transactions", a_deposit(), key="k") for _ in range(20))
    )
    assert {answer.status_code for answer in answers} <= {201, 409}
    assert len({answer.json()["id"] for answer in answers if answer.status_code == 201}) == 1
    assert len(await counter.desk.transactions()) == 1


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
async def test_what_the_ledger_does_not_take_is_told_why(
    counter: Counter, body: dict[str, Any], status: int, code: str, path: str
) -> None:
    answer = await counter.post(FINANCE, "/v1/ledger/transactions", body)
    assert answer.status_code == status, answer.text
    assert [(problem["path"], problem["code"]) for problem in answer.json()["errors"]] == [(path, code)], answer.text
    assert await counter.desk.transactions() == []


async def test_an_unbalanced_transaction_is_told_what_it_sums_to(counter: Counter) -> None:
    body = with_postings(("agent:bot", 5_000_000, "USD"), ("agent:crew", -4_500_000, "USD"))
    problem = (await counter.post(FINANCE, "/v1/ledger/transactions", body)).json()
    assert problem["detail"] == "Postings sum to +500000 micros (0.50 USD), not to 0"


async def test_an_account_shows_its_balance_and_its_entries(counter: Counter) -> None:
    await counter.settle("ctr_1")
    counter.desk.clock.advance(timedelta(hours=1))
    await counter.settle("ctr_2")
    found = await counter.read(BOT, "/v1/accounts/agent:bot")
    assert found == {
        "account": "agent:bot",
        "as_of": "2025-03-01T13:00:00Z",
        "complete_to": "2025-03-01T13:00:00Z",
        "balances": [{"account": "agent:bot", "currency": "USD", "balance": "-2.70"}],
    }
    page = await counter.read(BOT, "/v1/accounts/agent:bot/entries", limit=1)
    (newest,) = page["items"]
    assert newest.pop("transaction_id").startswith("txn_")
    assert newest == {
        "contract_id": "ctr_2",
        "kind": "settlement",
        "account": "agent:bot",
        "amount": -1_350_000,
        "currency": "USD",
        "occurred_at": "2025-03-01T13:00:00Z",
        "reason": "outcome out_ctr_2",
    }
    rest = await counter.read(BOT, "/v1/accounts/agent:bot/entries", limit=1, cursor=page["next_cursor"])
    assert ([item["contract_id"] for item in rest["items"]], rest["next_cursor"]) == (["ctr_1"], None)


async def test_an_account_is_read_as_of_an_instant(counter: Counter) -> None:
    await counter.settle("ctr_1")
    counter.desk.clock.advance(timedelta(hours=1))
    await counter.settle("ctr_2")
    then = {"as_of": "2025-03-01T12:00:00Z"}
    past = await counter.read(FINANCE, "/v1/accounts/consumer:acme", **then)
    assert (balances(past), past["complete_to"]) == ({"consumer:acme USD": "1.50"}, "2025-03-01T12:00:00Z")
    entries = await counter.read(FINANCE, "/v1/accounts/consumer:acme/entries", **then)
    assert [entry["contract_id"] for entry in entries["items"]] == ["ctr_1"]
    future = await counter.read(FINANCE, "/v1/accounts/consumer:acme", as_of="2999-01-01T00:00:00Z")
    assert (balances(future), future["complete_to"]) == ({"consumer:acme USD": "3.00"}, "2025-03-01T13:00:00Z")


@pytest.mark.parametrize("suffix", ["", "/entries"])
async def test_consumers_and_agents_read_their_own_account_alone(counter: Counter, suffix: str) -> None:
    await counter.settle("ctr_1")
    own = {"consumer:acme": ACME, "agent:bot": BOT}
    for account in ("consumer:acme", "agent:bot", "platform:fees", "platform:cash", "agent:acme", "consumer:bot"):
        for reader in (ACME, BOT, GLOBEX):
            answer = await counter.ask(reader, f"/v1/accounts/{account}{suffix}")
            assert answer.status_code == (200 if own.get(account) == reader else 404), (account, reader)
        assert (await counter.ask(FINANCE, f"/v1/accounts/{account}{suffix}")).status_code == 200
    for role in (Audience.OPERATOR, Audience.SERVICE):
        assert (await counter.ask(Principal("x", role), f"/v1/accounts/{role}:x{suffix}")).status_code == 403
    assert (await counter.ask(None, f"/v1/accounts/consumer:acme{suffix}")).status_code == 401


@pytest.mark.parametrize("account", ["acme", "platform:gold", "consumer:", "operator:x", "consumer:a%20b"])
async def test_a_name_that_is_no_account_is_not_there(counter: Counter, account: str) -> None:
    answer = await counter.ask(FINANCE, f"/v1/accounts/{account}")
    assert (answer.status_code, answer.json()["code"]) == (404, "account_not_found")


async def test_an_account_that_was_never_posted_in_is_empty(counter: Counter) -> None:
    assert (await counter.read(ACME, "/v1/accounts/consumer:acme"))["balances"] == []
    assert (await counter.read(ACME, "/v1/accounts/consumer:acme/entries"))["items"] == []


async def test_a_principal_with_a_slash_in_its_id_reads_its_account(counter: Counter) -> None:
    crew = Principal("org/crew", Audience.AGENT)
    await counter.settle("ctr_1", agent_id=crew.id)
    assert balances(await counter.read(crew, "/v1/accounts/agent:org/crew")) == {"agent:org/crew USD": "-1.35"}
    assert len((await counter.read(crew, "/v1/accounts/agent:org%2Fcrew/entries"))["items"]) == 1


async def test_the_trial_balance_shows_every_account_and_sums_to_zero(counter: Counter) -> None:
    await counter.post(FINANCE, "/v1/ledger/transactions", a_deposit())
    await counter.settle("ctr_1")
    await counter.settle("ctr_2", terms=Terms(cpc_rate=Decimal("0.000001"), currency="EUR", fee_rate=Decimal(1)))
    found = await counter.read(FINANCE, "/v1/trial-balance")
    assert balances(found) == {
        "agent:bot EUR": "0.00",
        "agent:bot USD": "-1.35",
        "consumer:acme EUR": "0.500001",
        "consumer:acme USD": "-98.50",
        "platform:cash USD": "100.00",
        "platform:fees EUR": "-0.500001",
        "platform:fees USD": "-0.15",
    }
    sums: dict[str, Decimal] = defaultdict(Decimal)
    for row in found["accounts"]:
        sums[row["currency"]] += Decimal(row["balance"])
    assert sums == {"USD": 0, "EUR": 0}


async def test_the_trial_balance_of_a_past_instant_does_not_change(counter: Counter) -> None:
    await counter.settle("ctr_1")
    then = {"as_of": "2025-03-01T12:00:00Z"}
    before = await counter.read(FINANCE, "/v1/trial-balance", **then)
    counter.desk.clock.advance(timedelta(seconds=1))
    await counter.settle("ctr_2")
    await counter.post(FINANCE, "/v1/ledger/transactions", a_deposit())
    assert await counter.read(FINANCE, "/v1/trial-balance", **then) == before
    assert balances(before)["consumer:acme USD"] == "1.50"
    assert (await counter.read(FINANCE, "/v1/trial-balance", as_of="2025-03-01T11:59:59.999999Z"))["accounts"] == []


async def test_a_trial_balance_of_the_future_reaches_as_far_as_now(counter: Counter) -> None:
    found = await counter.read(FINANCE, "/v1/trial-balance", as_of="2025-04-01T00:00:00+02:00")
    assert (found["as_of"], found["complete_to"]) == ("2025-03-31T22:00:00Z", "2025-03-01T12:00:00Z")


@pytest.mark.parametrize(
    "path", ["/v1/trial-balance", "/v1/accounts/consumer:acme", "/v1/accounts/consumer:acme/entries"]
)
@pytest.mark.parametrize("as_of", ["2025-03-01", "2025-03-01T12:00:00", "now", ""])
async def test_an_instant_without_its_offset_is_refused(counter: Counter, path: str, as_of: str) -> None:
    answer = await counter.ask(FINANCE, path, as_of=as_of)
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_instant")
    assert answer.json()["errors"][0]["path"] == "query/as_of"


async def test_the_trial_balance_is_finances_alone(counter: Counter) -> None:
    assert (await counter.ask(None, "/v1/trial-balance")).status_code == 401
    for role in set(Audience) - {Audience.FINANCE}:
        assert (await counter.ask(Principal("acme", role), "/v1/trial-balance")).status_code == 403


async def test_accounts_add_up_to_the_trial_balance(counter: Counter) -> None:
    for number in range(12):
        await counter.settle(
            f"ctr_{number}", agent_id=("bot", "crew")[number % 2], consumer_id=("acme", "globex")[number % 3 == 0]
        )
    await counter.post(FINANCE, "/v1/ledger/transactions", a_deposit(7))
    whole = balances(await counter.read(FINANCE, "/v1/trial-balance"))
    parts: dict[str, str] = {}
    for name in {key.partition(" ")[0] for key in whole}:
        parts |= balances(await counter.read(FINANCE, f"/v1/accounts/{name}"))
    assert parts == whole

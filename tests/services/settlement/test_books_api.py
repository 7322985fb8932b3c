from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest

from aex_models.audiences import Audience
from aex_models.contract import Terms
from aex_runtime.identity.principals import Principal
from tests.services.settlement.counter import Counter, a_deposit, balances
from tests.services.settlement.ledger_kit import BOT, FINANCE, on_both_stores

HOUR = timedelta(hours=1)


async def test_an_account_shows_its_balance_and_its_entries(counter: Counter) -> None:
    await counter.settle("ctr_1")
    counter.ledger.clock.advance(HOUR)
    await counter.settle("ctr_2")
    await counter.seal()
    found = await counter.read(BOT, "/v1/accounts/agent:bot")
    assert found == {
        "account": "agent:bot",
        "as_of": "2025-03-01T13:00:00.000001Z",
        "complete_to": "2025-03-01T13:00:00.000001Z",
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
        "balance": "-2.70",
    }
    rest = await counter.read(BOT, "/v1/accounts/agent:bot/entries", limit=1, cursor=page["next_cursor"])
    assert [(item["contract_id"], item["balance"]) for item in rest["items"]] == [("ctr_1", "-1.35")]
    assert rest["next_cursor"] is None


@on_both_stores
async def test_an_account_is_read_as_of_an_instant(counter: Counter) -> None:
    for name in ("ctr_1", "ctr_2"):
        await counter.settle(name)
        await counter.seal()
        counter.ledger.clock.advance(HOUR)
    then = {"as_of": "2025-03-01T12:30:00Z"}
    past = await counter.read(FINANCE, "/v1/accounts/consumer:acme", **then)
    assert (balances(past["balances"]), past["complete_to"]) == ({"consumer:acme USD": "1.50"}, "2025-03-01T12:30:00Z")
    entries = await counter.read(FINANCE, "/v1/accounts/consumer:acme/entries", **then)
    assert [entry["contract_id"] for entry in entries["items"]] == ["ctr_1"]
    future = await counter.read(FINANCE, "/v1/accounts/consumer:acme", as_of="2999-01-01T00:00:00Z")
    assert (balances(future["balances"]), future["complete_to"]) == (
        {"consumer:acme USD": "3.00"},
        "2025-03-01T13:00:00Z",
    )
    assert future["as_of"] == "2999-01-01T00:00:00Z"


async def test_what_is_not_sealed_yet_is_in_no_book(counter: Counter) -> None:
    nothing = await counter.read(FINANCE, "/v1/trial-balance")
    assert (nothing["accounts"], nothing["complete_to"]) == ([], None)
    await counter.settle("ctr_1")
    assert (await counter.read(BOT, "/v1/accounts/agent:bot"))["balances"] == []
    assert (await counter.read(BOT, "/v1/accounts/agent:bot/entries"))["items"] == []
    await counter.seal()
    assert (await counter.read(BOT, "/v1/accounts/agent:bot"))["balances"] == [
        {"account": "agent:bot", "currency": "USD", "balance": "-1.35"}
    ]


@on_both_stores
async def test_entries_are_read_to_the_end_of_the_book_page_by_page(counter: Counter) -> None:
    for number in range(7):
        currency = ("USD", "EUR")[number % 2]
        await counter.settle(f"ctr_{number}", terms=Terms(cpc_rate=Decimal(1), currency=currency))
        if number in (3, 5):
            await counter.seal()
        counter.ledger.clock.advance(HOUR)
    await counter.seal()
    complete = (await counter.read(BOT, "/v1/accounts/agent:bot/entries"))["items"]
    assert sorted(entry["contract_id"] for entry in complete) == [f"ctr_{number}" for number in range(7)]
    assert complete[0]["contract_id"] == "ctr_6"
    assert {entry["currency"]: entry["balance"] for entry in reversed(complete)} == {"USD": "-6.00", "EUR": "-4.50"}
    for limit in (1, 2, 3, 7):
        seen, cursor = list[Any](), dict[str, str]()
        while True:
            page = await counter.read(BOT, "/v1/accounts/agent:bot/entries", limit=limit, **cursor)
            seen += page["items"]
            if page["next_cursor"] is None:
                break
            cursor = {"cursor": page["next_cursor"]}
        assert seen == complete


async def test_page_of_entries_stays_while_more_is_posted(counter: Counter) -> None:
    for number in range(4):
        await counter.settle(f"ctr_{number}")
        await counter.seal()
    first = await counter.read(BOT, "/v1/accounts/agent:bot/entries", limit=2)
    await counter.settle("ctr_new")
    await counter.seal()
    second = await counter.read(BOT, "/v1/accounts/agent:bot/entries", limit=2, cursor=first["next_cursor"])
    seen = [item["contract_id"] for page in (first, second) for item in page["items"]]
    assert seen == ["ctr_3", "ctr_2", "ctr_1", "ctr_0"]


async def test_a_cursor_of_another_account_or_instant_is_refused(counter: Counter) -> None:
    for number in range(2):
        await counter.settle(f"ctr_{number}")
    await counter.seal()
    cursor = (await counter.read(FINANCE, "/v1/accounts/agent:bot/entries", limit=1))["next_cursor"]
    for path, params in (
        ("/v1/accounts/consumer:acme/entries", {}),
        ("/v1/accounts/agent:bot/entries", {"as_of": "2025-03-01T12:30:00Z"}),
        ("/v1/settlements", {}),
    ):
        answer = await counter.ask(FINANCE, path, cursor=cursor, **params)
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_cursor")


@pytest.mark.parametrize("account", ["acme", "platform:gold", "consumer:", "operator:x", "consumer:a%20b"])
async def test_a_name_that_is_no_account_is_not_there(counter: Counter, account: str) -> None:
    answer = await counter.ask(FINANCE, f"/v1/accounts/{account}")
    assert (answer.status_code, answer.json()["code"]) == (404, "account_not_found")


async def test_a_principal_with_a_slash_in_its_id_reads_its_account(counter: Counter) -> None:
    crew = Principal("org/crew", Audience.AGENT)
    await counter.settle("ctr_1", agent_id=crew.id)
    await counter.seal()
    found = await counter.read(crew, "/v1/accounts/agent:org/crew")
    assert balances(found["balances"]) == {"agent:org/crew USD": "-1.35"}
    assert len((await counter.read(crew, "/v1/accounts/agent:org%2Fcrew/entries"))["items"]) == 1


@on_both_stores
async def test_the_trial_balance_shows_every_account_and_sums_to_zero(counter: Counter) -> None:
    await counter.post(FINANCE, "/v1/ledger/transactions", a_deposit())
    await counter.settle("ctr_1")
    await counter.settle("ctr_2", terms=Terms(cpc_rate=Decimal("0.000001"), currency="EUR", fee_rate=Decimal(1)))
    await counter.seal()
    assert await counter.trial_balance() == {
        "agent:bot EUR": "0.00",
        "agent:bot USD": "-1.35",
        "consumer:acme EUR": "0.500001",
        "consumer:acme USD": "-98.50",
        "platform:cash USD": "100.00",
        "platform:fees EUR": "-0.500001",
        "platform:fees USD": "-0.15",
    }


async def test_a_trial_balance_of_the_future_reaches_as_far_as_what_is_sealed(counter: Counter) -> None:
    await counter.seal()
    counter.ledger.clock.advance(HOUR)
    found = await counter.read(FINANCE, "/v1/trial-balance", as_of="2025-04-01T00:00:00+02:00")
    assert (found["as_of"], found["complete_to"]) == ("2025-03-31T22:00:00Z", "2025-03-01T12:00:00Z")

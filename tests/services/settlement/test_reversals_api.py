"""Corrections: a revision is taken back at most once, nothing is edited, and every account is as it was before."""

import asyncio
from contextlib import AsyncExitStack
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from aex_models.audiences import Audience
from aex_models.contract import Terms
from aex_models.corrections import ReversalRequest
from aex_models.events import SettlementAdjusted
from aex_models.settlement import TransactionKind
from aex_runtime.errors import Conflict
from aex_runtime.http.idempotency import IdempotentRequest
from aex_runtime.identity.principal import Principal
from aex_settlement.handlers.reverse_settlement import reverse_settlement
from aex_settlement.handlers.settle_outcome import settle_outcome
from aex_settlement.rules.ids import reversal_transaction_id, settlement_transaction_id
from tests.services.settlement.books import trial_balance
from tests.services.settlement.counter import Counter
from tests.services.settlement.desk import ACME, BOT, FINANCE, Desk, desk_over, open_store
from tests.services.settlement.outcomes import NOON, an_outcome

PATH = "/v1/settlements/ctr_1/reversals"
LESS = {"base": "0.80", "bonus": "0.00", "penalty": "0.30"}
KEYLESS = IdempotentRequest("", None, "")


async def test_a_reversal_takes_the_settlement_back(counter: Counter) -> None:
    await counter.settle("ctr_1")
    counter.desk.clock.advance(timedelta(days=1))
    answer = await counter.post(FINANCE, PATH, {"reason": "booked twice"})
    assert answer.status_code == 201, answer.text
    found = answer.json()
    assert found == await counter.read(FINANCE, "/v1/settlements/ctr_1")
    assert (found["status"], found["revision"], found["cost"]["total"]) == ("reversed", 1, "1.50")
    (revision,) = found["revisions"]
    assert (revision["reversed_at"], revision["reason"], revision["by"]) == (
        "2025-03-02T12:00:00Z", "booked twice", "ledger-desk",
    )  # fmt: skip
    booked, taken_back = await counter.desk.transactions()
    assert (taken_back.id, taken_back.kind) == (reversal_transaction_id("ctr_1", 1), TransactionKind.REVERSAL)
    assert (taken_back.reason, taken_back.by) == ("booked twice", "ledger-desk")
    assert [each.amount for each in taken_back.postings] == [-each.amount for each in booked.postings]


async def test_a_replacement_is_booked_as_the_next_revision_with_the_terms_fee(counter: Counter) -> None:
    await counter.settle("ctr_1")
    counter.desk.clock.advance(timedelta(hours=1))
    answer = await counter.post(FINANCE, PATH, {"reason": "wrong rate", "replacement": LESS, "revision": 1})
    assert answer.status_code == 201, answer.text
    found = answer.json()
    assert (found["status"], found["revision"], len(found["revisions"])) == ("settled", 2, 2)
    cost = found["cost"]
    assert (cost["base"], cost["bonus"], cost["penalty"], cost["total"], cost["fee"]) == (
        "0.80", "0.00", "0.30", "0.50", "0.05",
    )  # fmt: skip
    assert (cost["lines"], found["revisions"][1]["cost"]) == ([], cost)
    *_, replaced = await counter.desk.transactions()
    assert {each.id for each in await counter.desk.transactions()} >= {
        settlement_transaction_id("ctr_1", 2), reversal_transaction_id("ctr_1", 1),
    }  # fmt: skip
    await counter.seal()
    assert await trial_balance(counter) == {
        "agent:bot USD": "-0.45", "consumer:acme USD": "0.50", "platform:fees USD": "-0.05",
    }  # fmt: skip
    assert replaced.occurred_at == NOON + timedelta(hours=1, microseconds=1)


async def test_a_reversal_restores_every_account(counter: Counter) -> None:
    await counter.settle("ctr_0", agent_id="crew", terms=Terms(cpc_rate=Decimal("0.333333"), fee_rate=Decimal("0.5")))
    await counter.seal()
    before = await trial_balance(counter)
    await counter.settle("ctr_1")
    await counter.seal()
    assert await trial_balance(counter) != before
    await counter.reverse("ctr_1", replacement=LESS)
    await counter.seal()
    await counter.reverse("ctr_1")
    await counter.seal()
    after = await trial_balance(counter)
    assert {name: held for name, held in after.items() if held != "0.00"} == before


async def test_revisions_are_corrected_one_after_the_other_and_none_twice(counter: Counter) -> None:
    await counter.settle("ctr_1")
    for number in range(3):
        answer = await counter.reverse("ctr_1", reason=f"again {number}", replacement=LESS, revision=number + 1)
        assert answer.status_code == 201
    stale = await counter.reverse("ctr_1", replacement=LESS, revision=2)
    assert (stale.status_code, stale.json()["code"]) == (409, "revision_changed")
    found = (await counter.reverse("ctr_1")).json()
    assert (found["status"], found["revision"]) == ("reversed", 4)
    assert [each["reason"] for each in found["revisions"]] == ["again 0", "again 1", "again 2", "booked twice"]
    kinds = [each.kind for each in await counter.desk.transactions()]
    assert (kinds.count(TransactionKind.SETTLEMENT), kinds.count(TransactionKind.REVERSAL)) == (4, 4)


@pytest.mark.parametrize("again", [{}, {"replacement": LESS}, {"revision": 1}])
async def test_what_is_reversed_is_not_reversed_again(counter: Counter, again: dict[str, Any]) -> None:
    await counter.settle("ctr_1")
    await counter.reverse("ctr_1")
    answer = await counter.reverse("ctr_1", **again)
    assert (answer.status_code, answer.json()["code"]) == (409, "already_reversed")
    assert len(await counter.desk.transactions()) == 2
    assert len(counter.desk.events) == 1


async def test_a_reversal_of_an_unknown_contract_is_not_found(counter: Counter) -> None:
    await counter.settle("ctr_1")
    (booked,) = await counter.desk.transactions()
    for unknown in ("ctr_2", booked.id, reversal_transaction_id("ctr_1", 1)):
        answer = await counter.reverse(unknown)
        assert (answer.status_code, answer.json()["code"]) == (404, "settlement_not_found")


@pytest.mark.parametrize(
    ("body", "status", "code", "path"),
    [
        ({}, 422, "missing", "/reason"),
        ({"reason": ""}, 422, "string_too_short", "/reason"),
        ({"reason": "x" * 301}, 422, "string_too_long", "/reason"),
        ({"reason": "x", "note": "y"}, 422, "extra_forbidden", "/note"),
        ({"reason": "x", "revision": 0}, 422, "greater_than_equal", "/revision"),
        ({"reason": "x", "revision": "1"}, 422, "int_type", "/revision"),
        ({"reason": "x", "replacement": {"base": "1"}}, 422, "missing", "/replacement/bonus"),
        ({"reason": "x", "replacement": LESS | {"base": "-1"}}, 422, "greater_than_equal", "/replacement/base"),
        ({"reason": "x", "replacement": LESS | {"base": "1e2"}}, 422, "invalid_money", "/replacement/base"),
        ({"reason": "x", "replacement": LESS | {"bonus": "0.0000001"}}, 422, "invalid_money", "/replacement/bonus"),
        ({"reason": "x", "replacement": LESS | {"penalty": "0.81"}}, 400, "negative_total", "/replacement"),
        ({"reason": "x", "replacement": LESS | {"currency": "EUR"}}, 422, "extra_forbidden", "/replacement/currency"),
    ],
)
async def test_a_correction_that_makes_no_sense_is_told_why(
    counter: Counter, body: dict[str, Any], status: int, code: str, path: str
) -> None:
    await counter.settle("ctr_1")
    answer = await counter.post(FINANCE, PATH, body)
    assert answer.status_code == status, answer.text
    assert (path, code) in [(problem["path"], problem["code"]) for problem in answer.json()["errors"]], answer.text
    assert len(await counter.desk.transactions()) == 1


async def test_nobody_but_finance_corrects(counter: Counter) -> None:
    await counter.settle("ctr_1")
    assert (await counter.post(None, PATH, {"reason": "x"})).status_code == 401
    for role in set(Audience) - {Audience.FINANCE}:
        answer = await counter.post(Principal("acme", role), PATH, {"reason": "x"})
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden_role")
    assert len(await counter.desk.transactions()) == 1


async def test_the_parties_see_that_and_why_it_was_corrected_but_not_by_whom(counter: Counter) -> None:
    await counter.settle("ctr_1")
    await counter.reverse("ctr_1", reason="wrong rate", replacement=LESS)
    for reader in (ACME, BOT):
        found = await counter.read(reader, "/v1/settlements/ctr_1")
        assert found["cost"]["total"] == "0.50"
        assert found["revisions"][0]["reason"] == "wrong rate"
        assert not any("by" in revision for revision in found["revisions"])


async def test_reversed_settlements_are_listed_by_their_status(counter: Counter) -> None:
    for name in ("ctr_1", "ctr_2", "ctr_3"):
        await counter.settle(name)
    await counter.reverse("ctr_1")
    await counter.reverse("ctr_2", replacement=LESS)
    for status, expected in (("reversed", {"ctr_1"}), ("settled", {"ctr_2", "ctr_3"})):
        found = await counter.read(FINANCE, "/v1/settlements", status=status)
        assert {item["contract_id"] for item in found["items"]} == expected


async def test_the_others_are_told_what_the_contract_costs_now(desk: Desk) -> None:
    await settle_outcome(desk.deps, an_outcome())
    for replacement in (LESS, None):
        request = ReversalRequest.model_validate({"reason": "wrong", "replacement": replacement})
        await reverse_settlement(desk.deps, "ctr_1", request, "ada", KEYLESS)
    _, replaced, reversed_ = desk.events
    assert {each.type for each in (replaced, reversed_)} == {"settlement.adjusted"}
    assert replaced.id != reversed_.id
    told = [SettlementAdjusted.model_validate(each.data) for each in (replaced, reversed_)]
    assert [(each.contract_id, each.revision, f"{each.cost.total:.2f}", each.cost.currency) for each in told] == [
        ("ctr_1", 2, "0.50", "USD"),
        ("ctr_1", 2, "0.00", "USD"),
    ]


async def test_one_idempotency_key_has_one_effect_also_when_the_settlement_has_moved_on(counter: Counter) -> None:
    await counter.settle("ctr_1")
    body = {"reason": "wrong rate", "replacement": LESS}
    first = await counter.post(FINANCE, PATH, body, key="fix-1")
    await counter.reverse("ctr_1")
    again = await counter.post(FINANCE, PATH, body, key="fix-1")
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.headers["Idempotent-Replayed"] == "true"
    assert (first.json()["status"], again.json()["status"]) == ("settled", "reversed")  # rendered anew
    other = await counter.post(FINANCE, PATH, body | {"reason": "another"}, key="fix-1")
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")
    assert len(await counter.desk.transactions()) == 4


async def test_fifty_equal_requests_with_one_key_have_one_effect(counter: Counter) -> None:
    await counter.settle("ctr_1")
    body = {"reason": "wrong rate", "replacement": LESS}
    answers = await asyncio.gather(*(counter.post(FINANCE, PATH, body, key="fix-1") for _ in range(50)))
    assert {answer.status_code for answer in answers} <= {201, 409}
    assert {answer.json()["code"] for answer in answers if answer.status_code == 409} <= {"idempotency_in_flight"}
    assert {answer.json()["revision"] for answer in answers if answer.status_code == 201} == {2}
    assert len(await counter.desk.transactions()) == 3


@pytest.mark.parametrize("request_", [{}, {"replacement": LESS}])
async def test_two_operators_at_once_make_one_correction(tmp_path: Path, request_: dict[str, Any]) -> None:
    async with AsyncExitStack() as stack:
        desks = [desk_over(await stack.enter_async_context(open_store("sqlite", tmp_path)), NOON) for _ in range(8)]
        await settle_outcome(desks[0].deps, an_outcome())
        request = ReversalRequest.model_validate({"reason": "wrong"} | request_)
        made = await asyncio.gather(
            *(reverse_settlement(desk.deps, "ctr_1", request, "ada", KEYLESS) for desk in desks), return_exceptions=True
        )
        lost = [each for each in made if isinstance(each, BaseException)]
        assert len(lost) == 7
        assert all(isinstance(each, Conflict) for each in lost), lost
        assert {each.code for each in lost if isinstance(each, Conflict)} <= {"already_reversed", "revision_changed"}
        assert len(await desks[3].transactions()) == (3 if request_ else 2)
        assert sum(len(desk.events) for desk in desks) == 2


async def test_a_correction_is_logged_with_its_contract(desk: Desk) -> None:
    await settle_outcome(desk.deps, an_outcome())
    with capture_logs() as logs:
        await reverse_settlement(desk.deps, "ctr_1", ReversalRequest(reason="x"), "ada", KEYLESS)
    (line,) = [line for line in logs if line["event"] == "settlement_reversed"]
    assert (line["contract_id"], line["revision"], line["replaced"], line["replayed"]) == ("ctr_1", 1, False, False)

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs

from aex_models.corrections import ReversalRequest
from aex_models.events import SettlementAdjusted
from aex_models.settlement import TransactionKind
from aex_runtime.http.idempotency import IdempotentRequest
from aex_settlement.handlers.post_transactions import reverse_settlement, settle_outcome
from aex_settlement.rules.transactions import make_reversal_transaction_id, make_settlement_transaction_id
from tests.services.settlement.counter import Counter
from tests.services.settlement.ledger_kit import ACME, BOT, FINANCE, LedgerKit
from tests.services.settlement.outcomes import NOON, an_outcome

PATH = "/v1/settlements/ctr_1/reversals"
LESS = {"base": "0.80", "bonus": "0.00", "penalty": "0.30"}
KEYLESS = IdempotentRequest("", None, "")


async def test_a_reversal_takes_the_settlement_back(counter: Counter) -> None:
    await counter.settle("ctr_1")
    counter.ledger.clock.advance(timedelta(days=1))
    answer = await counter.post(FINANCE, PATH, {"reason": "booked twice"})
    assert answer.status_code == 201, answer.text
    found = answer.json()
    assert found == await counter.read(FINANCE, "/v1/settlements/ctr_1")
    assert (found["status"], found["revision"], found["cost"]["total"]) == ("reversed", 1, "1.50")
    (revision,) = found["revisions"]
    assert (revision["reversed_at"], revision["reason"], revision["by"]) == (
        "2025-03-02T12:00:00Z", "booked twice", "ledger-desk",
    )  # fmt: skip
    posted, reversal = await counter.ledger.transactions()
    assert (reversal.id, reversal.kind) == (make_reversal_transaction_id("ctr_1", 1), TransactionKind.REVERSAL)
    assert (reversal.reason, reversal.by) == ("booked twice", "ledger-desk")
    assert [each.amount for each in reversal.postings] == [-each.amount for each in posted.postings]


async def test_replacement_is_the_next_revision_with_the_terms_fee(counter: Counter) -> None:
    await counter.settle("ctr_1")
    counter.ledger.clock.advance(timedelta(hours=1))
    answer = await counter.post(FINANCE, PATH, {"reason": "wrong rate", "replacement": LESS, "revision": 1})
    assert answer.status_code == 201, answer.text
    found = answer.json()
    assert (found["status"], found["revision"], len(found["revisions"])) == ("settled", 2, 2)
    cost = found["cost"]
    assert (cost["base"], cost["bonus"], cost["penalty"], cost["total"], cost["fee"]) == (
        "0.80", "0.00", "0.30", "0.50", "0.05",
    )  # fmt: skip
    assert (cost["lines"], found["revisions"][1]["cost"]) == ([], cost)
    *_, replaced = await counter.ledger.transactions()
    assert {each.id for each in await counter.ledger.transactions()} >= {
        make_settlement_transaction_id("ctr_1", 2), make_reversal_transaction_id("ctr_1", 1),
    }  # fmt: skip
    await counter.seal()
    assert await counter.trial_balance() == {
        "agent:bot USD": "-0.45", "consumer:acme USD": "0.50", "platform:fees USD": "-0.05",
    }  # fmt: skip
    assert replaced.occurred_at == NOON + timedelta(hours=1, microseconds=1)


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
    kinds = [each.kind for each in await counter.ledger.transactions()]
    assert (kinds.count(TransactionKind.SETTLEMENT), kinds.count(TransactionKind.REVERSAL)) == (4, 4)


@pytest.mark.parametrize("repeated", [{}, {"replacement": LESS}, {"revision": 1}])
async def test_reversal_of_a_reversed_settlement_is_refused(counter: Counter, repeated: dict[str, Any]) -> None:
    await counter.settle("ctr_1")
    await counter.reverse("ctr_1")
    answer = await counter.reverse("ctr_1", **repeated)
    assert (answer.status_code, answer.json()["code"]) == (409, "already_reversed")
    assert len(await counter.ledger.transactions()) == 2
    assert len(counter.ledger.events) == 1


async def test_a_reversal_of_an_unknown_contract_is_not_found(counter: Counter) -> None:
    await counter.settle("ctr_1")
    (posted,) = await counter.ledger.transactions()
    for unknown in ("ctr_2", posted.id, make_reversal_transaction_id("ctr_1", 1)):
        answer = await counter.reverse(unknown)
        assert (answer.status_code, answer.json()["code"]) == (404, "settlement_not_found")


@pytest.mark.parametrize(
    ("body", "status", "code", "path"),
    [
        ({}, 422, "missing", "/reason"),
        ({"reason": "x", "note": "y"}, 422, "extra_forbidden", "/note"),
        ({"reason": "x", "revision": 0}, 422, "greater_than_equal", "/revision"),
        ({"reason": "x", "replacement": {"base": "1"}}, 422, "missing", "/replacement/bonus"),
        ({"reason": "x", "replacement": LESS | {"base": "-1"}}, 422, "greater_than_equal", "/replacement/base"),
        ({"reason": "x", "replacement": LESS | {"bonus": "0.0000001"}}, 422, "invalid_money", "/replacement/bonus"),
        ({"reason": "x", "replacement": LESS | {"penalty": "0.81"}}, 400, "negative_total", "/replacement"),
    ],
)
async def test_invalid_correction_is_explained(
    counter: Counter, body: dict[str, Any], status: int, code: str, path: str
) -> None:
    await counter.settle("ctr_1")
    answer = await counter.post(FINANCE, PATH, body)
    assert answer.status_code == status, answer.text
    assert (path, code) in [(problem["path"], problem["code"]) for problem in answer.json()["errors"]], answer.text
    assert len(await counter.ledger.transactions()) == 1


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


async def test_adjusted_event_has_the_current_cost(ledger: LedgerKit) -> None:
    await settle_outcome(ledger.deps, an_outcome())
    for replacement in (LESS, None):
        request = ReversalRequest.model_validate({"reason": "wrong", "replacement": replacement})
        await reverse_settlement(ledger.deps, "ctr_1", request, "ada", KEYLESS)
    _, replaced, reversed_ = ledger.events
    assert {each.type for each in (replaced, reversed_)} == {"settlement.adjusted"}
    assert replaced.id != reversed_.id
    logged = [SettlementAdjusted.model_validate(each.data) for each in (replaced, reversed_)]
    assert [(each.contract_id, each.revision, f"{each.cost.total:.2f}", each.cost.currency) for each in logged] == [
        ("ctr_1", 2, "0.50", "USD"),
        ("ctr_1", 2, "0.00", "USD"),
    ]


async def test_one_idempotency_key_has_one_effect_also_when_the_settlement_has_moved_on(counter: Counter) -> None:
    await counter.settle("ctr_1")
    body = {"reason": "wrong rate", "replacement": LESS}
    first = await counter.post(FINANCE, PATH, body, key="fix-1")
    await counter.reverse("ctr_1")
    repeated = await counter.post(FINANCE, PATH, body, key="fix-1")
    assert (first.status_code, repeated.status_code) == (201, 201)
    assert repeated.headers["Idempotent-Replayed"] == "true"
    assert (first.json()["status"], repeated.json()["status"]) == ("settled", "reversed")  # read once more
    other = await counter.post(FINANCE, PATH, body | {"reason": "another"}, key="fix-1")
    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")
    assert len(await counter.ledger.transactions()) == 4


async def test_fifty_equal_requests_with_one_key_have_one_effect(counter: Counter) -> None:
    await counter.settle("ctr_1")
    body = {"reason": "wrong rate", "replacement": LESS}
    answers = await asyncio.gather(*(counter.post(FINANCE, PATH, body, key="fix-1") for _ in range(50)))
    assert {answer.status_code for answer in answers} <= {201, 409}
    assert {answer.json()["code"] for answer in answers if answer.status_code == 409} <= {"idempotency_in_flight"}
    assert {answer.json()["revision"] for answer in answers if answer.status_code == 201} == {2}
    assert len(await counter.ledger.transactions()) == 3


async def test_a_correction_is_logged_with_its_contract(ledger: LedgerKit) -> None:
    await settle_outcome(ledger.deps, an_outcome())
    with capture_logs() as logs:
        await reverse_settlement(ledger.deps, "ctr_1", ReversalRequest(reason="x"), "ada", KEYLESS)
    (line,) = [line for line in logs if line["event"] == "settlement_reversed"]
    assert (line["contract_id"], line["revision"], line["replaced"], line["replayed"]) == ("ctr_1", 1, False, False)

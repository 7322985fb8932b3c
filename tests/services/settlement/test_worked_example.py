import csv
import io
import json
from decimal import Decimal

import pytest

from aex_models.contract import Terms
from tests.libs.models.results import a_criterion, a_result
from tests.services.settlement.books import trial_balance
from tests.services.settlement.counter import Counter
from tests.services.settlement.ledger_kit import ACME, BOT, FINANCE

AMOUNTS = {"base": "0.05", "bonus": "0.05", "penalty": "0.015", "total": "0.085", "fee": "0.0085"}
WAIVED = {"bonus_capped": "0.00", "penalty_waived": "0.00"}


@pytest.fixture
async def settled(counter: Counter) -> Counter:
    result = a_result(
        contract_id="ctr_1",
        criterion_results=(
            a_criterion("rougeL", bonus=Decimal("0.03")),
            a_criterion("word_count", bonus=Decimal("0.02")),
            a_criterion("keyword_coverage", met=False, required=False, penalty=Decimal("0.015")),
        ),
        bonus=Decimal("0.05"),
        penalty=Decimal("0.015"),
    )
    terms = Terms(cpc_rate=Decimal("0.05"), fee_rate=Decimal("0.10"))
    await counter.settle("ctr_1", terms=terms, verification_result=result)
    await counter.seal()
    return counter


async def test_the_record_shows_it(settled: Counter) -> None:
    for reader in (FINANCE, ACME, BOT):
        cost = (await settled.read(reader, "/v1/settlements/ctr_1"))["cost"]
        assert {name: cost[name] for name in AMOUNTS | WAIVED} == AMOUNTS | WAIVED
        assert cost["breakdown"] == {"cpc": "0.05", "cpa_bonus": "0.05", "cpa_penalty": "0.015"}
        assert [(line["metric"], line["met"], line["amount"]) for line in cost["lines"]] == [
            ("rougeL", True, "0.03"),
            ("word_count", True, "0.02"),
            ("keyword_coverage", False, "-0.015"),
        ]


async def test_the_ledger_holds_it(settled: Counter) -> None:
    (transaction,) = await settled.ledger.transactions()
    assert [(each.account, each.amount) for each in transaction.postings] == [
        ("consumer:acme", 85_000),
        ("agent:bot", -76_500),
        ("platform:fees", -8_500),
    ]
    assert await trial_balance(settled) == {
        "agent:bot USD": "-0.0765",
        "consumer:acme USD": "0.085",
        "platform:fees USD": "-0.0085",
    }
    (entry,) = (await settled.read(BOT, "/v1/accounts/agent:bot/entries"))["items"]
    assert (entry["amount"], entry["balance"]) == (-76_500, "-0.0765")


async def test_breakdown_and_export_have_the_amounts(settled: Counter) -> None:
    for reader in (FINANCE, ACME, BOT):
        found = await settled.read(reader, "/v1/settlements/breakdown", group_by="day,domain")
        (row,) = found["rows"]
        counted = {"count": 1, "success_count": 1, "cpc": "0.05", "cpa_bonus": "0.05", "cpa_penalty": "0.015"}
        assert row == row | counted | {"total": "0.085", "day": "2025-03-01", "domain": "general", "currency": "USD"}
        assert found["totals"] == [row | {"day": None, "domain": None}]

    visible = await settled.ask(FINANCE, "/v1/settlements/export", format="csv")
    (row,) = csv.DictReader(io.StringIO(visible.text, newline=""))
    logged = json.loads((await settled.ask(FINANCE, "/v1/settlements/export", format="jsonl")).text)
    for each in (row, logged):
        assert {name: each[name] for name in AMOUNTS | WAIVED} == AMOUNTS | WAIVED


async def test_taken_back_it_leaves_nothing(settled: Counter) -> None:
    await settled.reverse("ctr_1")
    await settled.seal()
    assert set((await trial_balance(settled)).values()) == {"0.00"}
    (row,) = (await settled.read(FINANCE, "/v1/settlements/breakdown", group_by="agent"))["rows"]
    amounts = dict.fromkeys(("cpc", "cpa_bonus", "cpa_penalty", "total"), "0.00")
    assert row == row | amounts | {"count": 0, "success_count": 0}

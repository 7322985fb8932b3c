"""A contract whose money is computed by hand and found equal wherever it is read.

base 0.05; bonus 0.03 + 0.02 = 0.05, two criteria are met; penalty 0.015, the third is not; total 0.085.

fee 0.085 × 1.25 % = 0.0010625 = 0.001062 after half-even rounding to a micro; agent 0.085 − 0.001062 = 0.083938.

Ledger, in micros: consumer +85,000, agent −83,938, fees −1,062; without a fee, agent −85,000.
"""

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.jobs import amounts, contract, deliver, plain_work, until_settled
from tests.e2e.live import Live, live_suite
from tests.e2e.pages import Table, dashboard_page
from tests.e2e.parties import Caller, Parties, parties_of
from tests.e2e.stores import transactions_of, until_in_the_books

pytestmark = pytest.mark.e2e
SIX_WORDS = "Nothing more was said that day"
MET = {"metric_type": "count", "comparison": "gte"}
CRITERIA = {
    "criteria": [
        {"metric": "word_count", **MET, "threshold": 3, "bonus": "0.03"},
        {"metric": "output_length", **MET, "threshold": 10, "bonus": "0.02"},
        {"metric": "word_count", **MET, "threshold": 100, "penalty": "0.015", "required": False},
    ]
}
BASE, BONUS, PENALTY, TOTAL = "0.05", "0.05", "0.015", "0.085"
FEE_RATE = "0.0125"


@dataclass(frozen=True, slots=True)
class Hand:
    """Amounts with a fee, in micros, signed as in the ledger."""

    fee: str
    agent: str
    postings: dict[str, int]
    """By role."""
    on_the_page: Table
    """Account's role, debit, credit."""


FREE = Hand(
    "0.00", "0.085", {"consumer": 85_000, "agent": -85_000}, [("consumer", "$0.085", ""), ("agent", "", "$0.085")]
)
WITH_FEE = Hand(
    "0.001062",
    "0.083938",
    {"consumer": 85_000, "agent": -83_938, "platform:fees": -1_062},
    [("consumer", "$0.085", ""), ("agent", "", "$0.083938"), ("platform:fees", "", "$0.001062")],
)


@pytest.fixture
def charging(tmp_path: Path) -> Iterator[Live]:
    """A platform that takes its share; nothing else is settled there."""
    with live_suite(tmp_path / ".aex", environment={"AEX_FEE_RATE": FEE_RATE}) as started:
        yield started
        assert started.breakdowns() == []


def test_the_amounts_are_those_worked_out_by_hand(live: Live) -> None:
    check(live, FREE)


def test_the_amounts_are_those_worked_out_by_hand_with_the_platforms_fee(charging: Live) -> None:
    check(charging, WITH_FEE)
    parties = parties_of(charging)
    balances = {
        each["account"].partition(":")[0]: each["balance"]
        for each in parties.finance.read("settlement", "/v1/trial-balance")["accounts"]
    }
    assert balances == {"consumer": "0.085", "agent": "-0.083938", "platform": "-0.001062"}


def check(live: Live, hand: Hand) -> None:
    """Settle the contract, and read it in every place."""
    parties = parties_of(live)
    work = plain_work(success_criteria=CRITERIA, budget={"max_cpc": BASE})
    contract_id = contract(parties, BASE, **work, evaluation=None)
    assert deliver(parties, contract_id, SIX_WORDS)["verdict"] == "passed"
    check_record(until_settled(parties.finance, contract_id), hand)
    impact = parties.consumer.read("verification", f"/v1/outcomes/{contract_id}")["billing_impact"]
    assert amounts(impact) == (BASE, BONUS, PENALTY, TOTAL)
    until_in_the_books(live)
    check_ledger(live, parties, contract_id, hand)
    check_breakdown(parties)
    check_exports(parties.finance, parties.consumer.id, hand)
    check_page(live, parties, contract_id, hand)


def check_record(settled: dict[str, Any], hand: Hand) -> None:
    cost = settled["cost"]
    assert amounts(cost) == (BASE, BONUS, PENALTY, TOTAL)
    assert cost["breakdown"] == {"cpc": BASE, "cpa_bonus": BONUS, "cpa_penalty": PENALTY}
    assert (cost["fee"], cost["bonus_capped"], cost["penalty_waived"]) == (hand.fee, "0.00", "0.00")
    assert [(line["met"], line["amount"]) for line in cost["lines"]] == [
        (True, "0.03"),
        (True, "0.02"),
        (False, "-0.015"),
    ]
    (revision,) = settled["revisions"]
    assert amounts(revision["cost"]) == amounts(cost)


def check_ledger(live: Live, parties: Parties, contract_id: str, hand: Hand) -> None:
    names = accounts(parties)
    (transaction,) = transactions_of(live, contract_id)
    assert {each.account: each.amount for each in transaction.postings} == {
        names[role]: micros for role, micros in hand.postings.items()
    }
    for reader, role, balance in ((parties.consumer, "consumer", TOTAL), (parties.agent, "agent", f"-{hand.agent}")):
        (held,) = reader.read("settlement", f"/v1/accounts/{names[role]}")["balances"]
        assert (held["currency"], held["balance"]) == ("USD", balance)
        (entry,) = reader.read("settlement", f"/v1/accounts/{names[role]}/entries")["items"]
        assert (entry["contract_id"], entry["amount"], entry["balance"]) == (contract_id, hand.postings[role], balance)


def check_breakdown(parties: Parties) -> None:
    for reader in (parties.consumer, parties.agent):
        found = reader.read("settlement", "/v1/settlements/breakdown", group_by="agent,day")
        for row in (*found["rows"], *found["totals"]):
            assert [row[name] for name in ("count", "success_count")] == [1, 1]
            sums = [row[name] for name in ("cpc", "cpa_bonus", "cpa_penalty", "total")]
            assert sums == [BASE, BONUS, PENALTY, TOTAL]
        assert len(found["rows"]) == len(found["totals"]) == 1


def check_exports(finance: Caller, consumer_id: str, hand: Hand) -> None:
    def exported(form: str) -> str:
        answer = finance.get("settlement", "/v1/settlements/export", format=form, consumer_id=consumer_id)
        assert answer.is_success, answer.text
        return answer.text

    rows = list(csv.DictReader(io.StringIO(exported("csv")))), list(map(json.loads, exported("jsonl").splitlines()))
    for (row,) in rows:
        assert (row["kind"], row["currency"]) == ("settlement", "USD")
        assert amounts(row) == (BASE, BONUS, PENALTY, TOTAL)
        assert (row["fee"], row["bonus_capped"], row["penalty_waived"]) == (hand.fee, "0.00", "0.00")


def check_page(live: Live, parties: Parties, contract_id: str, hand: Hand) -> None:
    page = dashboard_page(live, parties.finance, f"/settlements/{contract_id}")
    cost, criteria, revisions, postings = page.tables
    assert cost == [("Base", "$0.05"), ("Bonus", "$0.05"), ("Penalty", "-$0.015"), ("Total", "$0.085")]
    assert f"the agent bears a fee of ${hand.fee}." in page.text
    assert [row[-2:] for row in criteria[1:]] == [("met", "$0.03"), ("met", "$0.02"), ("not met", "-$0.015")]
    assert [row[2:6] for row in revisions[1:]] == [("$0.05", "$0.05", "$0.015", "$0.085")]
    names = accounts(parties)
    assert [row[-3:] for row in postings[1:]] == [(names[role], *sides) for role, *sides in hand.on_the_page]


def accounts(parties: Parties) -> dict[str, str]:
    """The accounts by role."""
    return {
        "consumer": f"consumer:{parties.consumer.id}",
        "agent": f"agent:{parties.agent.id}",
        "platform:fees": "platform:fees",
    }

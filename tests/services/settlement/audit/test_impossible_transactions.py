"""What no transaction of this service looks like, even where all of its hashes are right."""

from decimal import Decimal
from typing import Any

import pytest

from aex_models.settlement import (
    LedgerTransaction,
    Posting,
    Settlement,
    SettlementStatus,
    TransactionKind,
)
from aex_settlement.rules.audit.findings import Seal, parse_seal
from aex_settlement.rules.audit.settlements import claim_of, claims_of, settlement_problems
from aex_settlement.rules.audit.transactions import mirror_problem, original_id, transaction_problems
from aex_settlement.rules.booked import reversal_transaction, settlement_transaction
from aex_settlement.rules.recompute import recomputed_cost
from tests.services.settlement.outcomes import NOON, a_settlement, an_outcome


def settled(**changes: Any) -> Settlement:
    """Revision 1 of a contract, at the cost of its outcome."""
    return a_settlement(cost=recomputed_cost(an_outcome("ctr_1")), **changes)


def booked(**changes: Any) -> LedgerTransaction:
    """The transaction of that revision; `changes` of its booking go by `booking`."""
    settlement = settled()
    made = settlement_transaction(settlement, 1, settlement.cost, NOON, "outcome out_ctr_1", "service:settlement")
    assert made.booking is not None
    booking = made.booking.model_copy(update=changes.pop("booking", {}))
    return made.model_copy(update={"booking": booking, **changes})


def taken_back(**changes: Any) -> LedgerTransaction:
    """Its reversal."""
    settlement = settled()
    made = reversal_transaction(settlement, 1, settlement.cost, NOON, "wrong rate", "finance:ann")
    assert made.booking is not None
    booking = made.booking.model_copy(update=changes.pop("booking", {}))
    return made.model_copy(update={"booking": booking, **changes})


def posting(account: str, amount: int, currency: str = "USD") -> Posting:
    return Posting(account=account, amount=amount, currency=currency)


def test_what_the_service_writes_is_possible() -> None:
    for transaction in (booked(), taken_back()):
        assert list(transaction_problems(transaction)) == []
    assert mirror_problem(taken_back(), booked()) is None
    assert original_id(taken_back()) == booked().id
    assert original_id(booked()) is None


IMPOSSIBLE = {
    "id": (booked(id="txn_other"), "its id"),
    "count": (booked(booking={"count": 2}), "counted once"),
    "success": (booked(booking={"success_count": -1}), "counted once"),
    "sign": (booked(booking={"bonus_capped": -1}), "mixes signs"),
    "sum": (booked(booking={"cpc": 5}), "add up"),
    "fee": (booked(booking={"fee": 5}), "not those of its booking"),
    "party": (booked(booking={"agent_id": "crony"}), "not those of its booking"),
    "no booking": (booked().model_copy(update={"booking": None}), "no booking"),
    "no contract": (booked(contract_id=None), "names no contract"),
    "unbalanced": (booked(postings=(posting("consumer:acme", 3), posting("agent:bot", -2))), "sum to zero"),
    "account": (booked(postings=(posting("treasury", 3), posting("agent:bot", -3))), "does not have"),
    "currencies": (
        booked(
            postings=(posting("consumer:acme", 1, "EUR"), posting("agent:bot", -1, "USD")),
        ),
        "mixes currencies",
    ),
    "booking of a deposit": (booked(kind=TransactionKind.DEPOSIT), "carries a booking"),
    "reversal as a settlement": (taken_back(kind=TransactionKind.SETTLEMENT), "its id"),
}


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_what_is_impossible_is_said(case: str) -> None:
    transaction, words = IMPOSSIBLE[case]
    assert any(words in problem for problem in transaction_problems(transaction))


@pytest.mark.parametrize(
    ("reversal", "original", "words"),
    [
        (taken_back(), None, "not in the ledger"),
        (taken_back(), booked(booking={"agent_id": "crony"}), "same contract"),
        (taken_back(booking={"total": -1}), booked(), "figures"),
        (taken_back(), booked(postings=(posting("consumer:acme", 1), posting("agent:bot", -1))), "postings"),
    ],
)
def test_a_reversal_takes_back_exactly_what_was_booked(
    reversal: LedgerTransaction, original: LedgerTransaction | None, words: str
) -> None:
    assert words in (mirror_problem(reversal, original) or "")


def test_a_record_and_its_transactions_make_the_same_claims() -> None:
    revision = (
        settled().revisions[0].model_copy(update={"reversed_at": NOON, "reason": "wrong rate", "by": "finance:ann"})
    )
    settlement = settled(revisions=(revision,), status=SettlementStatus.REVERSED)
    assert list(claims_of(settlement)) == [claim_of(booked()), claim_of(taken_back())]
    assert claim_of(booked().model_copy(update={"booking": None})) is None


def test_a_record_that_contradicts_itself_is_told() -> None:
    settlement = settled()
    [revision] = settlement.revisions
    other = revision.cost.model_copy(update={"contract_id": "ctr_2"})
    torn = revision.cost.model_copy(
        update={"breakdown": revision.cost.breakdown.model_copy(update={"cpc": Decimal(7)})}
    )
    second = revision.model_copy(update={"revision": 2})
    cases: list[tuple[str, dict[str, Any]]] = [
        ("numbered", {"revision": 2}),
        ("numbered", {"revision": 0, "revisions": ()}),
        ("not reversed", {"revision": 2, "revisions": (revision, second)}),
        ("its status", {"status": SettlementStatus.REVERSED}),
        ("its cost is", {"cost": revision.cost.model_copy(update={"fee": Decimal(0)})}),
        ("settled_at", {"settled_at": NOON.replace(year=2031)}),
        ("another contract", {"cost": other, "revisions": (revision.model_copy(update={"cost": other}),)}),
        ("the breakdown", {"cost": torn, "revisions": (revision.model_copy(update={"cost": torn}),)}),
    ]
    for words, changes in cases:
        problems = list(settlement_problems(settlement.model_copy(update=changes)))
        assert any(words in problem for problem in problems), words
    assert list(settlement_problems(settlement)) == []


def test_a_seal_is_written_as_it_is_read() -> None:
    seal = Seal(seq=12, hash="ab" * 32)
    assert parse_seal(f" {seal}\n") == seal
    assert parse_seal("12") is None

from decimal import Decimal
from typing import Any

import pytest

from aex_models.settlement import LedgerTransaction, Posting, Settlement, SettlementStatus, TransactionKind
from aex_settlement.rules.audit_findings import Seal, parse_seal
from aex_settlement.rules.audit_transactions import (
    find_reversal_mismatch,
    find_settlement_problems,
    find_transaction_problems,
    id_of_reversed_transaction,
    record_of_transaction,
    records_of_settlement,
)
from aex_settlement.rules.settlements import check_outcome_and_recompute_cost
from aex_settlement.rules.transactions import build_reversal_transaction, build_settlement_transaction
from tests.services.settlement.outcomes import NOON, a_settlement, an_outcome


def settled(**changes: Any) -> Settlement:
    """Revision 1 of a contract, at the cost of its outcome."""
    return a_settlement(cost=check_outcome_and_recompute_cost(an_outcome("ctr_1")), **changes)


def posted(**changes: Any) -> LedgerTransaction:
    """The transaction of that revision; `changes` of its booking go by `booking`."""
    settlement = settled()
    made = build_settlement_transaction(settlement, 1, settlement.cost, NOON, "outcome out_ctr_1", "service:settlement")
    assert made.booking is not None
    booking = made.booking.model_copy(update=changes.pop("booking", {}))
    return made.model_copy(update={"booking": booking, **changes})


def reversal_of(**changes: Any) -> LedgerTransaction:
    settlement = settled()
    made = build_reversal_transaction(settlement, 1, settlement.cost, NOON, "wrong rate", "finance:ann")
    assert made.booking is not None
    booking = made.booking.model_copy(update=changes.pop("booking", {}))
    return made.model_copy(update={"booking": booking, **changes})


def posting(account: str, amount: int, currency: str = "USD") -> Posting:
    return Posting(account=account, amount=amount, currency=currency)


def test_what_the_service_writes_is_possible() -> None:
    for transaction in (posted(), reversal_of()):
        assert list(find_transaction_problems(transaction)) == []
    assert find_reversal_mismatch(reversal_of(), posted()) is None
    assert id_of_reversed_transaction(reversal_of()) == posted().id
    assert id_of_reversed_transaction(posted()) is None


IMPOSSIBLE = {
    "id": (posted(id="txn_other"), "its id"),
    "count": (posted(booking={"count": 2}), "counted once"),
    "success": (posted(booking={"success_count": -1}), "counted once"),
    "sign": (posted(booking={"bonus_capped": -1}), "mixes signs"),
    "sum": (posted(booking={"cpc": 5}), "add up"),
    "fee": (posted(booking={"fee": 5}), "not those of its booking"),
    "party": (posted(booking={"agent_id": "crony"}), "not those of its booking"),
    "no booking": (posted().model_copy(update={"booking": None}), "no booking"),
    "no contract": (posted(contract_id=None), "names no contract"),
    "account": (posted(postings=(posting("treasury", 3), posting("agent:bot", -3))), "does not have"),
    "currencies": (
        posted(postings=(posting("consumer:acme", 1, "EUR"), posting("agent:bot", -1, "USD"))),
        "mixes currencies",
    ),
    "booking of a deposit": (posted(kind=TransactionKind.DEPOSIT), "carries a booking"),
    "reversal as a settlement": (reversal_of(kind=TransactionKind.SETTLEMENT), "its id"),
}


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_impossible_transaction_is_described(case: str) -> None:
    transaction, words = IMPOSSIBLE[case]
    assert any(words in problem for problem in find_transaction_problems(transaction))


@pytest.mark.parametrize(
    ("reversal", "original", "words"),
    [
        (reversal_of(), None, "not in the ledger"),
        (reversal_of(), posted(booking={"agent_id": "crony"}), "same contract"),
        (reversal_of(booking={"total": -1}), posted(), "figures"),
        (reversal_of(), posted(postings=(posting("consumer:acme", 1), posting("agent:bot", -1))), "postings"),
    ],
)
def test_reversal_negates_its_original_exactly(
    reversal: LedgerTransaction, original: LedgerTransaction | None, words: str
) -> None:
    assert words in (find_reversal_mismatch(reversal, original) or "")


def test_a_record_and_its_transactions_make_the_same_claims() -> None:
    revision = (
        settled().revisions[0].model_copy(update={"reversed_at": NOON, "reason": "wrong rate", "by": "finance:ann"})
    )
    settlement = settled(revisions=(revision,), status=SettlementStatus.REVERSED)
    assert list(records_of_settlement(settlement)) == [
        record_of_transaction(posted()),
        record_of_transaction(reversal_of()),
    ]
    assert record_of_transaction(posted().model_copy(update={"booking": None})) is None


def test_contradictory_settlement_is_described() -> None:
    settlement = settled()
    [revision] = settlement.revisions
    other = revision.cost.model_copy(update={"contract_id": "ctr_2"})
    second = revision.model_copy(update={"revision": 2})
    cases: list[tuple[str, dict[str, Any]]] = [
        ("numbered", {"revision": 2}),
        ("numbered", {"revision": 0, "revisions": ()}),
        ("not reversed", {"revision": 2, "revisions": (revision, second)}),
        ("its status", {"status": SettlementStatus.REVERSED}),
        ("its cost is", {"cost": revision.cost.model_copy(update={"fee": Decimal(0)})}),
        ("settled_at", {"settled_at": NOON.replace(year=2031)}),
        ("another contract", {"cost": other, "revisions": (revision.model_copy(update={"cost": other}),)}),
    ]
    for words, changes in cases:
        problems = list(find_settlement_problems(settlement.model_copy(update=changes)))
        assert any(words in problem for problem in problems), words
    assert list(find_settlement_problems(settlement)) == []


def test_a_seal_is_written_as_it_is_read() -> None:
    seal = Seal(seq=12, hash="ab" * 32)
    assert parse_seal(f" {seal}\n") == seal
    assert parse_seal("12") is None

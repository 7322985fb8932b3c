"""Events that a change requires: state and event are committed together or not at all."""

from collections.abc import Callable, Mapping
from typing import Any

from aex_governance.repository import HOLDS, VALIDATIONS
from aex_models.contract import ContractStatus
from aex_models.governance import Hold, HoldStatus
from aex_models.results import Verdict
from aex_models.settlement import Settlement
from aex_settlement.repository.ledger import SETTLEMENTS, TRANSACTIONS
from aex_verification.repository import ATTEMPTS, CONTRACTS, OUTCOMES
from aex_verification.rules.records import AttemptRow, ContractRow
from aex_work_publisher.repository import AWARDS, WORKS

Owed = Callable[[Any, Any], list[tuple[str, str]]]


def _of_contract(old: ContractRow | None, new: ContractRow) -> list[tuple[str, str]]:
    """Return the events that a change of a contract requires, such as the outcome at its end."""
    status = new.state.status
    if old is None or old.state.status is status:
        return []
    if status is ContractStatus.CANCELLED:
        return [("contract.cancelled", new.contract_id)]
    if status is ContractStatus.HELD:
        return [("outcome.held", new.contract_id)]
    return [("outcome.verified", new.contract_id)] if new.state.is_final else []


def _of_hold(old: Hold | None, new: Hold) -> list[tuple[str, str]]:
    decided = new.status is HoldStatus.DECIDED and (old is None or old.status is not HoldStatus.DECIDED)
    return [("outcome.reviewed", new.contract_id)] if decided else []


def _of_new(event: str) -> Owed:
    """Return a rule that a new record requires this event."""

    def owed(old: Any, new: Any) -> list[tuple[str, str]]:
        return [] if old else [(event, new.work.work_id if event == "work.submitted" else new.contract_id)]

    return owed


def _of_attempt(old: AttemptRow | None, new: AttemptRow) -> list[tuple[str, str]]:
    """Return the events that a change of an attempt requires."""
    reported = [] if old else [("output.submitted", new.contract_id)]
    rejected = new.verdict is Verdict.REJECTED and (old is None or old.verdict is not Verdict.REJECTED)
    return [*reported, ("output.rejected", new.contract_id)] if rejected else reported


def _of_settlement(old: Settlement | None, new: Settlement) -> list[tuple[str, str]]:
    return [("settlement.adjusted" if old else "settlement.completed", new.contract_id)]


OWED: Mapping[str, Owed] = {
    WORKS.collection.name: _of_new("work.submitted"),
    AWARDS.collection.name: _of_new("contract.awarded"),
    ATTEMPTS.collection.name: _of_attempt,
    OUTCOMES.collection.name: _of_new("outcome.verified"),
    VALIDATIONS.collection.name: lambda _old, _new: [],
    TRANSACTIONS.collection.name: lambda _old, _new: [],
    CONTRACTS.collection.name: _of_contract,
    HOLDS.collection.name: _of_hold,
    SETTLEMENTS.collection.name: _of_settlement,
}
"""The events, with their subjects, that come with a change."""

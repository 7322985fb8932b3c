"""Steps of an attempt at which verification can be killed, found from its commits and messages."""

from collections.abc import Sequence
from enum import StrEnum

from aex_governance.repository import VALIDATIONS
from aex_governance.rules.projection_documents import ValidationRecord
from aex_models.contract import ContractStatus
from aex_runtime.store.port import Write
from aex_verification.repository import ATTEMPTS, CONTRACTS, OUTCOMES
from aex_verification.rules.records import AttemptRow, ContractRow
from tests.e2e.dying.bus import handling, publishing


class Step(StrEnum):
    """Each has a moment before and one after."""

    TAKE_IN = "take-in"
    """The commit that takes a candidate in."""
    PUBLISH_JOB = publishing("output.submitted")
    HANDLE_JOB = handling("output.submitted")
    """Before: the job came, and nothing is judged. After: all is done, and the job is not acknowledged."""
    REJECT = "reject"
    """The commit of a rejection with attempts left."""
    REJECT_LAST = "reject-last"
    """The commit of the rejection that uses the last attempt."""
    PASS = "pass"
    """The commit of a pass."""
    ASK_GOVERNANCE = "ask-governance"
    """Decision of governance: before its commit, or after it and before its answer."""
    HOLD = "hold"
    """The commit by which an outcome is held for an operator."""
    RETRY = "retry"
    """The commit of an operator's retry of a hold."""
    FINALISE = "finalise"
    """The commit by which the agent settles early."""
    OUTCOME = "outcome"
    """The commit of the outcome."""
    PUBLISH_OUTCOME = publishing("outcome.verified")


def verification_step(writes: Sequence[Write]) -> tuple[str, str] | None:
    """Return the step of a commit of verification, and its contract."""
    contract = next((each for each in writes if each.collection == CONTRACTS.collection), None)
    if contract is None or not contract.body:
        return None
    row = ContractRow.model_validate_json(contract.body)
    step = _step_to(row, [each for each in writes if each.collection == ATTEMPTS.collection], writes)
    return (step, row.contract_id) if step else None


def _step_to(row: ContractRow, attempts: Sequence[Write], writes: Sequence[Write]) -> Step | None:
    if any(each.collection == OUTCOMES.collection for each in writes):
        return Step.OUTCOME
    created = [AttemptRow.model_validate_json(each.body) for each in attempts if each.kind == "create"]
    if created:
        return Step.RETRY if created[0].operator_retries else Step.TAKE_IN
    if row.state.closing is ContractStatus.FINALISED and not attempts:
        return Step.FINALISE
    return _verdict(row) if attempts else None


def _verdict(row: ContractRow) -> Step | None:
    if row.state.status is ContractStatus.HELD:
        return Step.HOLD
    if row.state.status is ContractStatus.AWAITING_REVISION:
        return Step.REJECT
    closing = {ContractStatus.EXHAUSTED: Step.REJECT_LAST, ContractStatus.PASSED: Step.PASS}
    return closing.get(row.state.closing) if row.state.closing else None


def governance_step(writes: Sequence[Write]) -> tuple[str, str] | None:
    """Return the contract of a commit of governance that is a decision."""
    decided = next((each for each in writes if each.collection == VALIDATIONS.collection), None)
    if decided is None:
        return None
    return Step.ASK_GOVERNANCE, ValidationRecord.model_validate_json(decided.body).request.contract_id

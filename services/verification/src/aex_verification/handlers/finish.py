"""The end of a contract: the immutable outcome, and the event that carries it to settlement."""

from typing import Any

from aex_models.contract import Candidate
from aex_models.events import ContractAwarded, OutcomeVerified
from aex_models.results import VerificationResult
from aex_outcomes.lifecycle.state import ContractState
from aex_runtime.store.keys import key_of
from aex_runtime.unit_of_work import Unit
from aex_verification.handlers.timers import CONCLUDE, DEADLINE
from aex_verification.measures import CONTRACTS_ENDED_TOTAL
from aex_verification.repository import OUTCOMES
from aex_verification.rules.outcome import outcome_record


async def write_outcome(
    unit: Unit,
    awarded: ContractAwarded,
    ended: ContractState,
    result: VerificationResult | None,
    candidate: Candidate | None,
    final_result: Any = None,
) -> None:
    """Write the record once, publish it, forget the deadline. `ended` is the state in its final status.

    `result`, `candidate` and `final_result` are those of the attempt that the outcome rests on, where there is one.
    """
    contract_id = ended.contract_id
    record = outcome_record(
        awarded,
        ended.status,
        result,
        final_result,
        candidate.execution_metadata.model_dump(mode="json", exclude_none=True) if candidate else {},
        ended.verification.attempts_used,
        unit.now,
    )
    await unit.create_large(OUTCOMES, key_of(contract_id), record)
    # The event leaves the output out; megabytes of it are not even to be looked at on the event loop.
    told = record.model_copy(update={"final_result": None})
    unit.emit("outcome.verified", contract_id, OutcomeVerified(outcome=told))
    unit.cancel_timer(DEADLINE, contract_id)
    unit.cancel_timer(CONCLUDE, contract_id)
    unit.measures.count(CONTRACTS_ENDED_TOTAL, ended.status)

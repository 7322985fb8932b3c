"""The outcome of a contract: its record, and what an operator's decision makes of a result."""

from datetime import datetime
from typing import Any

from aex_models.contract import ContractStatus
from aex_models.cost import billing_impact, cost
from aex_models.events import ContractAwarded
from aex_models.outcome import OutcomeRecord
from aex_models.results import VerificationResult


def outcome_id(contract_id: str) -> str:
    """A contract has one outcome: its id follows from the contract's."""
    return f"out_{contract_id.removeprefix('ctr_')}"


def outcome_record(
    awarded: ContractAwarded,
    status: ContractStatus,
    result: VerificationResult | None,
    final_result: Any,
    execution_metadata: dict[str, Any],
    attempts_used: int,
    now: datetime,
) -> OutcomeRecord:
    """The record, with what it costs under the award's terms."""
    award, work = awarded.award, awarded.work
    amounts = cost(awarded.terms, result, award.contract_id)
    return OutcomeRecord(
        id=outcome_id(award.contract_id),
        contract_id=award.contract_id,
        work_id=award.work_id,
        agent_id=award.agent_id,
        consumer_id=award.consumer.id,
        domain=work.domain,
        final_status=status,
        success_criteria=work.success_criteria,
        verification_result=result,
        final_result=final_result if result is not None and result.success else None,
        attempts_used=attempts_used,
        execution_metadata=execution_metadata,
        terms=awarded.terms,
        billing_impact=billing_impact(amounts),
        disclosure=work.verification.feedback,
        created_at=now,
    )


def paid_for(record: OutcomeRecord | None) -> bool:
    """Whether the consumer may read the candidate: final, with success or something to pay."""
    if record is None:
        return False
    succeeded = record.verification_result is not None and record.verification_result.success
    return succeeded or record.billing_impact.total > 0

"""What governance is told about an attempt."""

from collections.abc import Sequence

from aex_models.contract import Candidate
from aex_models.events import ContractAwarded
from aex_models.governance import Party, PreviousAttempt, ValidationRequest
from aex_verification.rules.records import AttemptRow


def validation_request(
    awarded: ContractAwarded, attempt: AttemptRow, candidate: Candidate, earlier: Sequence[AttemptRow]
) -> ValidationRequest:
    """The request for one attempt, with the judged attempts before it."""
    award = awarded.award
    return ValidationRequest(
        attempt_id=attempt.attempt_id,
        contract_id=award.contract_id,
        work_id=award.work_id,
        domain=awarded.work.domain,
        agent=Party(id=award.agent_id, org=attempt.agent_org),
        consumer=award.consumer,
        extracted_metrics=attempt.facts.extracted_metrics,
        claimed_metrics=candidate.claimed_metrics,
        execution_metadata=candidate.execution_metadata.model_dump(mode="json", exclude_none=True),
        platform_latency_ms=attempt.platform_latency_ms,
        output_text=attempt.facts.output_text,
        output_hash=attempt.output_hash,
        reference_similarity=attempt.facts.reference_similarity,
        keyword_stats=attempt.facts.keyword_stats,
        previous_attempts=tuple(
            PreviousAttempt(output_hash=each.output_hash, metrics=dict(each.result.metrics))
            for each in earlier
            if each.counted and each.result
        ),
        received_at=attempt.received_at,
    )

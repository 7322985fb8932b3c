"""Requests to governance about an attempt."""

from collections.abc import Sequence

from aex_models.contract import Candidate
from aex_models.events import ContractAwarded
from aex_models.examination import MismatchSeverity, ValueMismatch
from aex_models.governance import Party, PreviousAttempt, ScienceFindings, ValidationRequest
from aex_models.science import ScienceResult
from aex_verification.rules.records import AttemptRow

MAX_SCIENCE_FINDINGS = 200
"""Mismatches in a request, the worst first; also the limit of violations."""
_WORST_FIRST = (MismatchSeverity.CRITICAL, MismatchSeverity.MAJOR, MismatchSeverity.MINOR)


def summarize_science(science: ScienceResult) -> ScienceFindings:
    """Return the mismatches and violations that arithmetic found; those of a model's review are left out."""
    mismatches = sorted(science.value_mismatches, key=lambda each: _WORST_FIRST.index(each.severity))
    violations = science.domain_violations[:MAX_SCIENCE_FINDINGS]
    return ScienceFindings(
        mismatches=tuple(_format_mismatch(each) for each in mismatches[:MAX_SCIENCE_FINDINGS]),
        violations=tuple(each.model_dump(mode="json", exclude={"secret"}, exclude_none=True) for each in violations),
    )


def _format_mismatch(mismatch: ValueMismatch) -> dict[str, object]:
    return {
        "name": mismatch.name,
        "claimed": mismatch.claimed,
        "recomputed": mismatch.actual,
        "relative_error": mismatch.relative_error,
        "severity": mismatch.severity.value,
    }


def make_validation_request(
    awarded: ContractAwarded, attempt: AttemptRow, candidate: Candidate, earlier: Sequence[AttemptRow]
) -> ValidationRequest:
    """Return the request to governance about an attempt.

    `earlier` are the attempts judged before it, oldest first.
    """
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
        science=summarize_science(attempt.result.science) if attempt.result and attempt.result.science else None,
        execution_metadata=candidate.execution_metadata.model_dump(mode="json", exclude_none=True),
        platform_latency_ms=attempt.platform_latency_ms,
        output_text=attempt.facts.output_text,
        other_text=attempt.facts.other_text,
        output_hash=attempt.output_hash,
        reference_similarity=attempt.facts.reference_similarity,
        keyword_stats=attempt.facts.keyword_stats,
        previous_attempts=tuple(_make_previous(each, attempt) for each in earlier),
        received_at=attempt.received_at,
    )


def _make_previous(earlier: AttemptRow, attempt: AttemptRow) -> PreviousAttempt:
    same = earlier.output_hash == attempt.output_hash
    return PreviousAttempt(
        output_hash=earlier.output_hash,
        metrics=dict(earlier.result.metrics) if earlier.result else {},
        similarity=1.0 if same else attempt.facts.similarities.get(earlier.output_hash),
    )

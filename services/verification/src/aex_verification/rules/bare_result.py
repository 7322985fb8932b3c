"""A result of which nothing is known but its verdict."""

from datetime import datetime

from aex_models.governance import Action, GovernanceResult
from aex_models.results import Verdict, VerificationResult
from aex_outcomes.version import ENGINE_VERSION
from aex_verification.rules.records import AttemptRow


def bare_result(attempt: AttemptRow, now: datetime) -> VerificationResult:
    """An indeterminate result without metrics, for an attempt that the engine never came to an end with."""
    return VerificationResult(
        verification_id=f"ver_{attempt.attempt_id.removeprefix('att_')}",
        contract_id=attempt.contract_id,
        verdict=Verdict.INDETERMINATE,
        success=False,
        weighted_score=0.0,
        governance=GovernanceResult(action=Action.HOLD),
        candidate_hash=attempt.candidate_hash,
        engine_version=ENGINE_VERSION,
        verified_at=now,
    )

"""A loop's accounting, copied from the platform's: it alone counts."""

from typing import Any

from aex_client.views import AttemptView
from aex_models.contract import Contract
from aex_models.results import Verdict
from aex_outcomes.lifecycle.state import Judged, LastOutcome, VerificationState

VERDICTS = frozenset({Verdict.PASSED, Verdict.REJECTED})


def note(judged: dict[str, Judged], attempt: AttemptView) -> None:
    """Add an attempt that was judged; one that was verified anew takes the place of the earlier one."""
    if attempt.candidate_hash is None or attempt.verdict not in VERDICTS:
        return
    before = judged.get(attempt.candidate_hash)
    judged[attempt.candidate_hash] = Judged(
        attempt_id=attempt.attempt_id,
        verdict=attempt.verdict,
        weighted_score=(attempt.result.weighted_score if attempt.result else None) or 0.0,
        ordinal=before.ordinal if before else len(judged) + 1,
    )


def mirrored(before: VerificationState, contract: Contract, judged: dict[str, Judged]) -> VerificationState:
    """The accounting as the contract has it. `judged`: what is known of each candidate; empty: no more than before."""
    last = max(judged.items(), key=lambda each: each[1].ordinal, default=None)
    changes: dict[str, Any] = {"attempts_used": contract.attempts_used, "max_attempts": contract.max_attempts}
    if last is not None:
        outcome = LastOutcome.PASSED if last[1].verdict is Verdict.PASSED else LastOutcome.REJECTED
        changes |= {"judged": judged, "last_candidate_hash": last[0], "last_outcome": outcome}
    return before.model_copy(update=changes)

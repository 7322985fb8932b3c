"""Texts for operators: causes of holds, severities, and effects of decisions."""

from dataclasses import dataclass
from datetime import timedelta

from aex_models.governance import Decision, HoldCause, Severity

CAUSES = {
    HoldCause.FRAUD_SUSPECTED: "Fraud suspected",
    HoldCause.SYSTEM_RETRIES_EXHAUSTED: "Verification failed repeatedly",
    HoldCause.CUSTOM_METRIC_FAILED: "Custom metric failed",
    HoldCause.REVIEW_UNPARSABLE: "Review could not be read",
}
CAUSE_NOTES = {
    HoldCause.FRAUD_SUSPECTED: (
        "A fraud rule asks for a human before the outcome becomes final. The engine has judged the candidate already."
    ),
    HoldCause.SYSTEM_RETRIES_EXHAUSTED: (
        "The platform could not verify the candidate, and has tried as often as it may. That is not the agent's fault: "
        "there is no verdict."
    ),
    HoldCause.CUSTOM_METRIC_FAILED: (
        "The consumer's own metric failed on this candidate. That is not the agent's fault: there is no verdict."
    ),
    HoldCause.REVIEW_UNPARSABLE: (
        "The reviewer's answer could not be read as a verdict, so there is none. That is not the agent's fault."
    ),
}
SEVERITIES = (Severity.CRITICAL, Severity.MAJOR, Severity.MINOR, Severity.INFO)
"""Severities, the most severe first."""
DECISION_TEXTS = {
    Decision.RELEASE: "released this outcome",
    Decision.REJECT: "rejected this outcome as fraud",
    Decision.RETRY: "sent this outcome to be verified again",
}


@dataclass(frozen=True, slots=True)
class DecisionOption:
    """Decision that an operator can choose, as the form displays it."""

    decision: Decision
    title: str
    effect: str
    """Effect on the contract and the money."""


_RETRY = (
    "The same candidate is verified again under a new attempt id and counts as no further attempt. "
    "Nothing is final and no money moves; it may be held again."
)
_REJECT = (
    "The contract ends as failed, for fraud. Base and bonus become 0: the consumer pays nothing, and the agent gets "
    "nothing."
)
_RELEASE = (
    "The contract ends as the engine judged it and is settled: base, bonus and penalty as the work's terms and the "
    "criteria say."
)
_RELEASE_UNJUDGED = (
    "The contract ends as passed and is settled: the candidate counts as judged and as a success. The base is paid; "
    "bonus and penalty are 0."
)


def decision_options(cause: HoldCause) -> tuple[DecisionOption, ...]:
    """Return the decisions for a hold of this cause, with their effects.

    Only a hold for suspected fraud has a verdict; a release of another hold counts as a pass.
    """
    release = _RELEASE if cause is HoldCause.FRAUD_SUSPECTED else _RELEASE_UNJUDGED
    return (
        DecisionOption(Decision.RELEASE, "Release", release),
        DecisionOption(Decision.REJECT, "Reject as fraud", _REJECT),
        DecisionOption(Decision.RETRY, "Verify again", _RETRY),
    )


def format_duration(span: timedelta) -> str:
    """Return text in two units, such as `3 h 12 min`; below an hour in one, such as `5 min` or `40 s`."""
    seconds = max(int(span.total_seconds()), 0)
    minutes, hours, days = seconds // 60, seconds // 3_600, seconds // 86_400
    if days:
        return f"{days} d {hours % 24} h"
    if hours:
        return f"{hours} h {minutes % 60} min"
    return f"{minutes} min" if minutes else f"{seconds} s"

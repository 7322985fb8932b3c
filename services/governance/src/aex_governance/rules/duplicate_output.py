"""Fraud rule against free text that is delivered twice.

Either another agent delivered it before, or the agent itself delivered it to another consumer.
"""

from collections.abc import Sequence
from typing import Any

from aex_governance.rules.case import FraudRule, RuleCase, Thresholds
from aex_governance.rules.projection_documents import Sighting
from aex_governance.rules.projection_merging import format_late_validation_note, select_foreign_until_first_own
from aex_governance.text.free_text import MIN_TOKENS, MIN_TOKENS_NOTE
from aex_models.governance import Action, Flag, Severity

_MAX_LISTED = 5


def check(case: RuleCase, thresholds: Thresholds) -> Flag | None:
    """Return a flag for identical free text; None if there is none.

    Text of another agent on another work is critical. Text that the agent delivered to another consumer is minor.
    """
    if case.text is None or not case.text.is_free or case.text.tokens < thresholds["min_tokens"]:
        return None
    request = case.request
    own = [each for each in case.copies if each.agent_id == request.agent.id]
    foreign = [each for each in case.copies if each.agent_id != request.agent.id and _is_other_work(case, each)]
    if others := select_foreign_until_first_own(foreign, own):
        message = "Another agent delivered the same text on another work"
        return _flag(case, Severity.CRITICAL, message + format_late_validation_note(request, others), others)
    sold = [s for s in own if s.consumer_id != request.consumer.id and s.contract_id != request.contract_id]
    if sold:
        return _flag(case, Severity.MINOR, "The agent delivered the same text to another consumer", sold)
    return None


def _is_other_work(case: RuleCase, sighting: Sighting) -> bool:
    return sighting.work_id != case.request.work_id and sighting.contract_id != case.request.contract_id


def _flag(case: RuleCase, severity: Severity, message: str, sightings: Sequence[Sighting]) -> Flag:
    evidence: dict[str, Any] = {
        "output_hash": case.request.output_hash,
        "tokens": case.text.tokens if case.text else 0,
        "received_at": case.request.received_at.isoformat(),
        "seen_before": [each.model_dump(mode="json", exclude={"output_hash"}) for each in sightings[:_MAX_LISTED]],
        "seen_before_by": len({each.agent_id for each in sightings}),
    }
    return Flag(rule=RULE.name, severity=severity, message=message, evidence=evidence)


RULE = FraudRule(
    name="duplicate_output",
    description=(
        "The same free text (prose of 50 words or more) by another agent on another work, or the agent's own for "
        "another consumer."
    ),
    check=check,
    actions={Severity.CRITICAL: Action.HOLD, Severity.MINOR: Action.ALLOW},
    threshold_notes={"min_tokens": MIN_TOKENS_NOTE},
    reads_history=True,
    threshold_minima={"min_tokens": MIN_TOKENS},
)

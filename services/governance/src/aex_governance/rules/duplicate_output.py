"""Free text that was delivered before: by another agent on another work, or by the agent itself to another consumer."""

from collections.abc import Sequence
from typing import Any

from aex_governance.rules.case import Case
from aex_governance.rules.likeness import not_after_own, received_later
from aex_governance.rules.rule import FraudRule, Thresholds
from aex_governance.rules.sighting import Sighting
from aex_governance.rules.text import MIN_TOKENS, MIN_TOKENS_NOTE
from aex_models.governance import Action, Flag, Severity

_MOST_SHOWN = 5


def check(case: Case, thresholds: Thresholds) -> Flag | None:
    """Look at the outputs with the same hash. What others delivered weighs more than what the agent sold twice."""
    if case.text is None or not case.text.is_free or case.text.tokens < thresholds["min_tokens"]:
        return None
    request = case.request
    own = [each for each in case.copies if each.agent_id == request.agent.id]
    foreign = [each for each in case.copies if each.agent_id != request.agent.id and _is_elsewhere(case, each)]
    if others := not_after_own(foreign, own):
        message = "Another agent delivered the same text on another work"
        return _flag(case, Severity.CRITICAL, message + received_later(request, others), others)
    sold = [s for s in own if s.consumer_id != request.consumer.id and s.contract_id != request.contract_id]
    if sold:
        return _flag(case, Severity.MINOR, "The agent delivered the same text to another consumer", sold)
    return None


def _is_elsewhere(case: Case, seen: Sighting) -> bool:
    return seen.work_id != case.request.work_id and seen.contract_id != case.request.contract_id


def _flag(case: Case, severity: Severity, message: str, seen: Sequence[Sighting]) -> Flag:
    evidence: dict[str, Any] = {
        "output_hash": case.request.output_hash,
        "tokens": case.text.tokens if case.text else 0,
        "received_at": case.request.received_at.isoformat(),
        "seen_before": [each.model_dump(mode="json", exclude={"output_hash"}) for each in seen[:_MOST_SHOWN]],
        "seen_before_by": len({each.agent_id for each in seen}),
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

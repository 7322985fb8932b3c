"""Form in which an operator decides on a hold. Invalid input is kept, so that it can be corrected."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from aex_governance.rules.evidence import require_valid_reason
from aex_models.governance import Decision, Hold, HoldDecision
from aex_runtime.errors import InvalidRequest


class FormStep(StrEnum):
    """Button that submitted the form: check the decision, change it, or record it."""

    CHECK = "check"
    CHANGE = "change"
    RECORD = "record"


@dataclass(frozen=True, slots=True)
class DecisionForm:
    """Submitted decision and reason, with a message for each invalid field."""

    decision: Decision | None = None
    reason: str = ""
    step: FormStep = FormStep.CHANGE
    problems: Mapping[str, str] = field(default_factory=dict)

    @property
    def hold_decision(self) -> HoldDecision | None:
        """Return the decision to record; None if the form has problems or no decision."""
        if self.decision is None or self.problems:
            return None
        return HoldDecision(decision=self.decision, reason=self.reason)

    def is_already_recorded(self, hold: Hold, operator_id: str) -> bool:
        """Return whether the operator has recorded this decision already, as after a double click."""
        return (hold.decided_by, hold.decision, hold.reason) == (operator_id, self.decision, self.reason)


def parse_decision_form(fields: Mapping[str, str]) -> DecisionForm:
    """Return the form from its submitted fields; invalid ones become problems. The reason is stripped.

    A line end that a browser sends as CR LF counts as one character.
    """
    reason = fields.get("reason", "").replace("\r\n", "\n")
    decision, step = fields.get("decision", ""), fields.get("step", "")
    problems = {}
    if decision not in set(Decision):
        problems["decision"] = "Choose what to do with the outcome"
    try:
        reason = require_valid_reason(reason)
    except InvalidRequest as error:
        problems["reason"] = error.message[:1].upper() + error.message[1:]
    return DecisionForm(
        decision=Decision(decision) if decision in set(Decision) else None,
        reason=reason,
        step=FormStep(step) if step in set(FormStep) else FormStep.CHECK,
        problems=problems,
    )

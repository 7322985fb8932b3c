"""A decision as a form sends it: what was typed is kept, whatever is wrong with it. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from aex_governance.rules.reason import tidy_reason
from aex_models.governance import Decision, Hold, HoldDecision
from aex_runtime.errors import InvalidRequest


class Step(StrEnum):
    """What a form asks for: to look at the decision once more, to change it, or to record it."""

    CHECK = "check"
    CHANGE = "change"
    RECORD = "record"


@dataclass(frozen=True, slots=True)
class Draft:
    """What an operator has chosen and typed so far, and what is wrong with it, by field."""

    decision: Decision | None = None
    reason: str = ""
    step: Step = Step.CHANGE
    problems: Mapping[str, str] = field(default_factory=dict)

    @property
    def stated(self) -> HoldDecision | None:
        """The decision; None where something is wrong with it."""
        if self.decision is None or self.problems:
            return None
        return HoldDecision(decision=self.decision, reason=self.reason)

    def repeats(self, hold: Hold, operator_id: str) -> bool:
        """Whether just this was recorded before: a button that was pressed twice."""
        return (hold.decided_by, hold.decision, hold.reason) == (operator_id, self.decision, self.reason)


def read_draft(form: Mapping[str, str]) -> Draft:
    """The fields of a form. Forms end lines with two characters, of which only one is counted."""
    typed = form.get("reason", "").replace("\r\n", "\n")
    chosen, asked = form.get("decision", ""), form.get("step", "")
    problems = {}
    if chosen not in set(Decision):
        problems["decision"] = "Choose what to do with the outcome"
    reason = typed
    try:
        reason = tidy_reason(typed)
    except InvalidRequest as error:
        problems["reason"] = error.message[:1].upper() + error.message[1:]
    return Draft(
        decision=Decision(chosen) if chosen in set(Decision) else None,
        reason=reason,
        step=Step(asked) if asked in set(Step) else Step.CHECK,
        problems=problems,
    )

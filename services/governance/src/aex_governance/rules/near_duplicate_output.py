"""Fraud rule against free text that is nearly identical to another agent's."""

from aex_governance.rules.case import FraudRule, RuleCase, Thresholds
from aex_governance.rules.projection_merging import format_late_validation_note, select_foreign_until_first_own
from aex_governance.text.free_text import MIN_TOKENS, MIN_TOKENS_NOTE
from aex_models.governance import Action, Flag, Severity

_MAX_LISTED = 5


def check(case: RuleCase, thresholds: Thresholds) -> Flag | None:
    """Return a major flag for similar texts of other agents; None if there is none.

    Identical outputs are left to the rule `duplicate_output`.
    """
    if case.text is None or not case.text.is_free or case.text.tokens < thresholds["min_tokens"]:
        return None
    request = case.request
    near = [each for each in case.near_copies if each.similarity >= thresholds["min_similarity"]]
    own = [each.sighting for each in near if each.sighting.agent_id == request.agent.id]
    foreign = [
        each.sighting
        for each in near
        if each.sighting.agent_id != request.agent.id
        and each.sighting.contract_id != request.contract_id
        and each.sighting.output_hash != request.output_hash
    ]
    counted = select_foreign_until_first_own(foreign, own)
    if not counted:
        return None
    matches = sorted((each for each in near if each.sighting in counted), key=lambda each: -each.similarity)
    return Flag(
        rule=RULE.name,
        severity=Severity.MAJOR,
        message="Nearly the text that another agent delivered" + format_late_validation_note(request, counted),
        evidence={
            "min_similarity": thresholds["min_similarity"],
            "tokens": case.text.tokens,
            "received_at": request.received_at.isoformat(),
            "alike": [
                {"similarity": round(each.similarity, 3), **each.sighting.model_dump(mode="json")}
                for each in matches[:_MAX_LISTED]
            ],
        },
    )


RULE = FraudRule(
    name="near_duplicate_output",
    description="Free text (prose of 50 words or more) that is nearly identical to another agent's.",
    check=check,
    actions={Severity.MAJOR: Action.HOLD},
    threshold_notes={
        "min_similarity": (
            "Share of pairs of neighbouring words that two texts have in common (Jaccard, estimated), in [0, 1]."
        ),
        "min_tokens": MIN_TOKENS_NOTE,
    },
    reads_history=True,
    threshold_minima={"min_tokens": MIN_TOKENS},
)

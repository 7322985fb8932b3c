"""Free text that is nearly what another agent delivered."""

from aex_governance.rules.case import Case
from aex_governance.rules.rule import FraudRule, Thresholds
from aex_models.governance import Action, Flag, Severity

_MOST_SHOWN = 5


def check(case: Case, thresholds: Thresholds) -> Flag | None:
    """Look at other agents' texts that share bands of the sketch. Equal outputs are `duplicate_output`'s."""
    if case.text is None or not case.text.is_free:
        return None
    request = case.request
    alike = [
        each
        for each in case.likenesses
        if each.similarity >= thresholds["min_similarity"]
        and each.sighting.agent_id != request.agent.id
        and each.sighting.work_id != request.work_id
        and each.sighting.output_hash != request.output_hash
    ]
    if not alike:
        return None
    alike.sort(key=lambda each: -each.similarity)
    nearest = alike[0]
    return Flag(
        rule=RULE.name,
        severity=Severity.MAJOR,
        message=f"Nearly the text that agent {nearest.sighting.agent_id} delivered: {nearest.similarity:.0%} alike",
        evidence={
            "min_similarity": thresholds["min_similarity"],
            "tokens": case.text.tokens,
            "received_at": request.received_at.isoformat(),
            "alike": [
                {"similarity": round(each.similarity, 3), **each.sighting.model_dump(mode="json")}
                for each in alike[:_MOST_SHOWN]
            ],
        },
    )


RULE = FraudRule(
    name="near_duplicate_output",
    description="Free text (prose of 50 words or more) that is nearly identical to another agent's on another work.",
    check=check,
    actions={Severity.MAJOR: Action.HOLD},
    threshold_notes={
        "min_similarity": (
            "Share of pairs of neighbouring words that two texts have in common (Jaccard, estimated), in [0, 1]."
        )
    },
)

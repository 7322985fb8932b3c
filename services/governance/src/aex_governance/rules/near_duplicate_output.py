"""Free text that is nearly what another agent delivered."""

from aex_governance.rules.case import Case
from aex_governance.rules.likeness import not_after_own, received_later
from aex_governance.rules.rule import FraudRule, Thresholds
from aex_governance.rules.sighting import Sighting
from aex_governance.rules.text import MIN_TOKENS, MIN_TOKENS_NOTE
from aex_models.governance import Action, Flag, Severity

_MOST_SHOWN = 5


def check(case: Case, thresholds: Thresholds) -> Flag | None:
    """Look at other agents' texts that share bands of the sketch. Equal outputs are `duplicate_output`'s."""
    if case.text is None or not case.text.is_free or case.text.tokens < thresholds["min_tokens"]:
        return None
    request = case.request
    near = [each for each in case.likenesses if each.similarity >= thresholds["min_similarity"]]
    own = [each.sighting for each in near if each.sighting.agent_id == request.agent.id]
    foreign = [each.sighting for each in near if _is_foreign(case, each.sighting)]
    counted = not_after_own(foreign, own)
    if not counted:
        return None
    alike = sorted((each for each in near if each.sighting in counted), key=lambda each: -each.similarity)
    return Flag(
        rule=RULE.name,
        severity=Severity.MAJOR,
        message="Nearly the text that another agent delivered" + received_later(request, counted),
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


def _is_foreign(case: Case, seen: Sighting) -> bool:
    request = case.request
    return (
        seen.agent_id != request.agent.id
        and seen.contract_id != request.contract_id
        and seen.output_hash != request.output_hash
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

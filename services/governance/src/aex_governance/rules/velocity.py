"""Fraud rule against too many attempts of an agent in a time window, in total or for one consumer."""

from aex_governance.rules.case import FraudRule, RuleCase, Thresholds
from aex_models.governance import Action, Flag, Severity

MAX_WINDOW_S = 86_400
"""Longest window in seconds; a longer one would read too many documents for each attempt."""


def check(case: RuleCase, thresholds: Thresholds) -> Flag | None:
    """Return a major flag if this attempt and those in the window exceed a limit; None otherwise."""
    counts = {
        "agent": (case.recent.agent + 1, thresholds["max_agent_outcomes"]),
        "pair": (case.recent.pair + 1, thresholds["max_pair_outcomes"]),
    }
    over = [name for name, (count, limit) in counts.items() if count > limit]
    if not over:
        return None
    party = {"agent": "of the agent", "pair": "of the agent for this consumer"}[over[0]]
    return Flag(
        rule=RULE.name,
        severity=Severity.MAJOR,
        message=f"More outcomes {party} within {thresholds['window_s']} s than the limit",
        evidence={
            "window_s": thresholds["window_s"],
            "agent_id": case.request.agent.id,
            "agent_outcomes": counts["agent"][0],
            "max_agent_outcomes": counts["agent"][1],
            "consumer_id": case.request.consumer.id,
            "pair_outcomes": counts["pair"][0],
            "max_pair_outcomes": counts["pair"][1],
        },
    )


RULE = FraudRule(
    name="velocity",
    description="More outcomes of one agent, or of one agent–consumer pair, in a window than the limit.",
    check=check,
    actions={Severity.MAJOR: Action.HOLD},
    threshold_notes={
        "window_s": "How far back outcomes are counted, in seconds, to the minute; at most a day.",
        "max_agent_outcomes": "The most outcomes of one agent in the window.",
        "max_pair_outcomes": "The most outcomes of one agent for one consumer in the window.",
    },
    reads_history=True,
    threshold_maxima={"window_s": MAX_WINDOW_S},
)

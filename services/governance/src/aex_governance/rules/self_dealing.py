"""Consumer and agent are the same principal, or share an organisation."""

from aex_governance.rules.case import Case
from aex_governance.rules.rule import FraudRule, Thresholds
from aex_models.governance import Action, Flag, Severity


def check(case: Case, thresholds: Thresholds) -> Flag | None:
    """Compare the two parties. Two without an organisation share none."""
    del thresholds
    consumer, agent = case.request.consumer, case.request.agent
    if consumer.id == agent.id:
        message = "Consumer and agent are the same principal"
    elif consumer.org is not None and consumer.org == agent.org:
        message = "Consumer and agent belong to the same organisation"
    else:
        return None
    evidence = {"consumer": consumer.model_dump(), "agent": agent.model_dump()}
    return Flag(rule=RULE.name, severity=Severity.CRITICAL, message=message, evidence=evidence)


RULE = FraudRule(
    name="self_dealing",
    description="Consumer and agent are the same principal or share an organisation.",
    check=check,
    actions={Severity.CRITICAL: Action.HOLD},
    threshold_notes={},
)

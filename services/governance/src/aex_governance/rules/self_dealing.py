"""Fraud rule against a consumer and an agent of one principal or organisation."""

from aex_governance.rules.case import FraudRule, RuleCase, Thresholds
from aex_models.governance import Action, Flag, Severity


def check(case: RuleCase, thresholds: Thresholds) -> Flag | None:
    """Return a critical flag if consumer and agent share id or organisation; None otherwise.

    Case and whitespace are ignored. A missing organisation equals no other.
    """
    del thresholds
    consumer, agent = case.request.consumer, case.request.agent
    if _are_same(consumer.id, agent.id):
        message = "Consumer and agent are the same principal"
    elif _are_same(consumer.org, agent.org):
        message = "Consumer and agent belong to the same organisation"
    elif _are_same(consumer.org, agent.id):
        message = "The consumer belongs to the agent's house: its organisation is the agent itself"
    elif _are_same(consumer.id, agent.org):
        message = "The agent belongs to the consumer's house: its organisation is the consumer itself"
    else:
        return None
    evidence = {"consumer": consumer.model_dump(), "agent": agent.model_dump()}
    return Flag(rule=RULE.name, severity=Severity.CRITICAL, message=message, evidence=evidence)


def _are_same(one: str | None, other: str | None) -> bool:
    return one is not None and other is not None and _normalise(one) == _normalise(other)


def _normalise(name: str) -> str:
    return "".join(name.split()).casefold()


RULE = FraudRule(
    name="self_dealing",
    description="Consumer and agent are the same principal, share an organisation, or one is the other's organisation.",
    check=check,
    actions={Severity.CRITICAL: Action.HOLD},
    threshold_notes={},
)

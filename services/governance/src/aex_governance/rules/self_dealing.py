"""Consumer and agent are the same principal, share an organisation, or one of them is the other's."""

from aex_governance.rules.case import Case
from aex_governance.rules.rule import FraudRule, Thresholds
from aex_models.governance import Action, Flag, Severity


def check(case: Case, thresholds: Thresholds) -> Flag | None:
    """Compare the two parties, however their names are spelt. Two without an organisation share none."""
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
    return one is not None and other is not None and _plain(one) == _plain(other)


def _plain(name: str) -> str:
    """Issuers spell the same name in upper and lower case; white space in it is no difference either."""
    return "".join(name.split()).casefold()


RULE = FraudRule(
    name="self_dealing",
    description="Consumer and agent are the same principal, share an organisation, or one is the other's organisation.",
    check=check,
    actions={Severity.CRITICAL: Action.HOLD},
    threshold_notes={},
)

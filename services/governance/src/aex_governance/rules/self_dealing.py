"""Consumer and agent are the same principal, or share an organisation."""

from aex_governance.rules.case import Case
from aex_governance.rules.rule import FraudRule, Thresholds
from aex_models.governance import Action, Flag, Severity


def check(case: Case, thresholds: Thresholds) -> Flag | None:
    """Compare the two parties, however their names are spelt. Two without an organisation share none."""
    del thresholds
    consumer, agent = case.request.consumer, case.request.agent
    if _plain(consumer.id) == _plain(agent.id):
        message = "Consumer and agent are the same principal"
    elif consumer.org is not None and agent.org is not None and _plain(consumer.org) == _plain(agent.org):
        message = "Consumer and agent belong to the same organisation"
    else:
        return None
    evidence = {"consumer": consumer.model_dump(), "agent": agent.model_dump()}
    return Flag(rule=RULE.name, severity=Severity.CRITICAL, message=message, evidence=evidence)


def _plain(name: str) -> str:
    """Issuers spell the same name in upper and lower case; white space in it is no difference either."""
    return "".join(name.split()).casefold()


RULE = FraudRule(
    name="self_dealing",
    description="Consumer and agent are the same principal or share an organisation.",
    check=check,
    actions={Severity.CRITICAL: Action.HOLD},
    threshold_notes={},
)

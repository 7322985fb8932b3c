"""From flags to a decision: the strongest action of the rules that were raised."""

from collections.abc import Iterable, Mapping
from math import prod

from aex_governance.rules.case import Case
from aex_governance.rules.config import RuleConfig
from aex_governance.rules.table import RULES
from aex_models.governance import Action, Flag, Severity, ValidationDecision

_STRENGTH = (Action.ALLOW, Action.HOLD, Action.REJECT)
_RISK = {Severity.INFO: 0.05, Severity.MINOR: 0.2, Severity.MAJOR: 0.6, Severity.CRITICAL: 0.95}
"""How likely a flag of this severity alone makes fraud; flags combine as independent witnesses."""


def decide(case: Case, configs: Mapping[str, RuleConfig]) -> ValidationDecision:
    """Run every enabled rule. `valid` is true only for allow."""
    flags = []
    action = Action.ALLOW
    for rule in RULES:
        config = configs[rule.name]
        flag = rule.check(case, config.thresholds) if config.enabled else None
        if flag is not None:
            flags.append(flag)
            action = max(action, rule.actions[flag.severity], key=_STRENGTH.index)
    return ValidationDecision(
        valid=action is Action.ALLOW, action=action, flags=tuple(flags), risk_score=risk_score(flags)
    )


def risk_score(flags: Iterable[Flag]) -> float:
    """1 − Π (1 − risk of each flag): 0 without flags, towards 1 with many or grave ones."""
    return round(1 - prod(1 - _RISK[flag.severity] for flag in flags), 6)

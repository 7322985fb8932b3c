"""From flags to a decision: the strongest action of the rules that were raised."""

from collections.abc import Iterable, Mapping, Sequence
from math import prod

from aex_governance.rules.case import Case
from aex_governance.rules.config import RuleConfig
from aex_governance.rules.rule import FraudRule
from aex_governance.rules.table import RULES
from aex_models.governance import Action, Flag, Severity, ValidationDecision

_STRENGTH = (Action.ALLOW, Action.HOLD, Action.REJECT)
_RISK = {Severity.INFO: 0.05, Severity.MINOR: 0.2, Severity.MAJOR: 0.6, Severity.CRITICAL: 0.95}
"""How likely a flag of this severity alone makes fraud; flags combine as independent witnesses."""


class RuleBroken(RuntimeError):
    """A rule could not decide: a bug of ours, not the agent's doing."""


def decide(case: Case, configs: Mapping[str, RuleConfig], rules: Sequence[FraudRule] = RULES) -> ValidationDecision:
    """Run every enabled rule. `valid` is true only for allow.

    Raises `RuleBroken`, naming the rule and the attempt, where one of them breaks: what it would have said is unknown,
    and unknown is never a pass. No decision is made, nothing is stored, and whoever asked asks again.
    """
    flags = []
    action = Action.ALLOW
    for rule in rules:
        config = configs[rule.name]
        if not config.enabled:
            continue
        try:
            flag = rule.check(case, config.thresholds)
            if flag is not None:
                flags.append(flag)
                action = max(action, rule.actions[flag.severity], key=_STRENGTH.index)
        except Exception as error:
            raise RuleBroken(f"rule {rule.name} broke on attempt {case.request.attempt_id}: {error!r}") from error
    return ValidationDecision(
        valid=action is Action.ALLOW, action=action, flags=tuple(flags), risk_score=risk_score(flags)
    )


def risk_score(flags: Iterable[Flag]) -> float:
    """1 − Π (1 − risk of each flag): 0 without flags, towards 1 with many or grave ones."""
    return round(1 - prod(1 - _RISK[flag.severity] for flag in flags), 6)

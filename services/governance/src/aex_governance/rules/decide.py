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
    """Run every enabled rule and combine what they say. Raises `RuleBroken` as `raised` does."""
    return combined(raised(case, configs, rules), rules)


def raised(case: Case, configs: Mapping[str, RuleConfig], rules: Sequence[FraudRule]) -> tuple[Flag, ...]:
    """The flags of those of these rules that are enabled.

    Raises `RuleBroken`, naming the rule and the attempt, where one of them breaks: what it would have said is unknown,
    and unknown is never a pass. No decision is made, nothing is stored, and whoever asked asks again.
    """
    flags = []
    for rule in rules:
        config = configs[rule.name]
        if not config.enabled:
            continue
        try:
            flag = rule.check(case, config.thresholds)
            if flag is not None:
                rule.actions[flag.severity]  # a severity that nobody knows what to do about is a bug, too
                flags.append(flag)
        except Exception as error:
            raise RuleBroken(f"rule {rule.name} broke on attempt {case.request.attempt_id}: {error!r}") from error
    return tuple(flags)


def combined(flags: Iterable[Flag], rules: Sequence[FraudRule] = RULES) -> ValidationDecision:
    """The decision that these flags make, in the order of the rules. `valid` is true only for allow."""
    places = {rule.name: place for place, rule in enumerate(rules)}
    ordered = tuple(sorted(flags, key=lambda flag: places[flag.rule]))
    actions = (rules[places[flag.rule]].actions[flag.severity] for flag in ordered)
    action = max(actions, key=_STRENGTH.index, default=Action.ALLOW)
    return ValidationDecision(
        valid=action is Action.ALLOW, action=action, flags=ordered, risk_score=risk_score(ordered)
    )


def risk_score(flags: Iterable[Flag]) -> float:
    """1 − Π (1 − risk of each flag): 0 without flags, towards 1 with many or grave ones."""
    return round(1 - prod(1 - _RISK[flag.severity] for flag in flags), 6)

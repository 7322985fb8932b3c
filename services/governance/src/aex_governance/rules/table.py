"""Table of all fraud rules, and the decision that follows from their flags."""

from collections.abc import Iterable, Mapping, Sequence
from math import prod

from aex_governance.rules import (
    claimed_metric_mismatch,
    claimed_value_mismatch,
    domain_violation,
    duplicate_output,
    judge_injection,
    keyword_stuffing,
    latency_impossible,
    metric_out_of_bounds,
    near_duplicate_output,
    reference_copy,
    score_probing,
    self_dealing,
    statistical_outlier,
    velocity,
)
from aex_governance.rules.case import FraudRule, RuleCase, RuleConfig
from aex_models.governance import Action, Flag, Severity, ValidationDecision

RULES = (
    metric_out_of_bounds.RULE,
    claimed_metric_mismatch.RULE,
    claimed_value_mismatch.RULE,
    domain_violation.RULE,
    latency_impossible.RULE,
    duplicate_output.RULE,
    near_duplicate_output.RULE,
    reference_copy.RULE,
    keyword_stuffing.RULE,
    score_probing.RULE,
    judge_injection.RULE,
    self_dealing.RULE,
    statistical_outlier.RULE,
    velocity.RULE,
)
"""Rules in the order of file 5 of the specification."""
REQUEST_RULES = tuple(rule for rule in RULES if not rule.reads_history)
"""Rules whose flags depend only on the request and its text."""
HISTORY_RULES = tuple(rule for rule in RULES if rule.reads_history)
"""Rules whose flags depend on the history too."""
_STRENGTH = (Action.ALLOW, Action.HOLD, Action.REJECT)
_RISK = {Severity.INFO: 0.05, Severity.MINOR: 0.2, Severity.MAJOR: 0.6, Severity.CRITICAL: 0.95}
"""Probability of fraud by the severity of a flag; flags combine as independent events."""


class RuleBroken(RuntimeError):
    """Error of a fraud rule that failed because of a defect in its code."""


def decide(case: RuleCase, configs: Mapping[str, RuleConfig], rules: Sequence[FraudRule] = RULES) -> ValidationDecision:
    """Return the decision that follows from the flags of all enabled rules. Raises `RuleBroken`."""
    return combine_flags(collect_flags(case, configs, rules), rules)


def collect_flags(case: RuleCase, configs: Mapping[str, RuleConfig], rules: Sequence[FraudRule]) -> tuple[Flag, ...]:
    """Return the flags of the enabled rules for a case.

    Raises `RuleBroken` with the names of rule and attempt when a rule fails. No decision is stored then, and the
    caller can retry.
    """
    flags = []
    for rule in rules:
        config = configs[rule.name]
        if not config.enabled:
            continue
        try:
            flag = rule.check(case, config.thresholds)
            if flag is not None:
                rule.actions[flag.severity]  # a severity without an action is a defect too
                flags.append(flag)
        except Exception as error:
            raise RuleBroken(f"rule {rule.name} broke on attempt {case.request.attempt_id}: {error!r}") from error
    return tuple(flags)


def combine_flags(flags: Iterable[Flag], rules: Sequence[FraudRule] = RULES) -> ValidationDecision:
    """Return the decision that follows from flags: the strongest of their actions, and a risk score.

    Without flags the action is `allow`. Flags are sorted in the order of the rules.
    """
    order = {rule.name: index for index, rule in enumerate(rules)}
    ordered = tuple(sorted(flags, key=lambda flag: order[flag.rule]))
    actions = (rules[order[flag.rule]].actions[flag.severity] for flag in ordered)
    action = max(actions, key=_STRENGTH.index, default=Action.ALLOW)
    return ValidationDecision(
        valid=action is Action.ALLOW, action=action, flags=ordered, risk_score=compute_risk_score(ordered)
    )


def compute_risk_score(flags: Iterable[Flag]) -> float:
    """Return the probability of fraud in [0, 1]: 1 − Π (1 − risk of each flag)."""
    return round(1 - prod(1 - _RISK[flag.severity] for flag in flags), 6)

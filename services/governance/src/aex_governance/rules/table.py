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
"""In the order of spec file 5."""
REQUEST_RULES = tuple(rule for rule in RULES if not rule.reads_history)
"""Rules whose flags depend on the request and its text alone."""
HISTORY_RULES = tuple(rule for rule in RULES if rule.reads_history)
_STRENGTH = (Action.ALLOW, Action.HOLD, Action.REJECT)
_RISK = {Severity.INFO: 0.05, Severity.MINOR: 0.2, Severity.MAJOR: 0.6, Severity.CRITICAL: 0.95}
"""Probability of fraud for a single flag of this severity; flags combine as independent events."""


class RuleBroken(RuntimeError):
    """A rule failed because of a defect in its code."""


def decide(case: RuleCase, configs: Mapping[str, RuleConfig], rules: Sequence[FraudRule] = RULES) -> ValidationDecision:
    """Return the decision of all enabled rules. Raises `RuleBroken` as `raise_flags` does."""
    return combine_flags(raise_flags(case, configs, rules), rules)


def raise_flags(case: RuleCase, configs: Mapping[str, RuleConfig], rules: Sequence[FraudRule]) -> tuple[Flag, ...]:
    """Return the flags of the enabled rules.

    Raises `RuleBroken`, naming the rule and the attempt, when a rule fails. Then no decision is stored, and the caller
    can retry.
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
    """Return the strongest action of the flags, which are sorted as the rules are."""
    order = {rule.name: index for index, rule in enumerate(rules)}
    ordered = tuple(sorted(flags, key=lambda flag: order[flag.rule]))
    actions = (rules[order[flag.rule]].actions[flag.severity] for flag in ordered)
    action = max(actions, key=_STRENGTH.index, default=Action.ALLOW)
    return ValidationDecision(
        valid=action is Action.ALLOW, action=action, flags=ordered, risk_score=risk_score(ordered)
    )


def risk_score(flags: Iterable[Flag]) -> float:
    """Return 1 − Π (1 − risk of each flag)."""
    return round(1 - prod(1 - _RISK[flag.severity] for flag in flags), 6)

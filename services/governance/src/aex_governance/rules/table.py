"""Every rule, in one table, in the order of spec file 5."""

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

OF_REQUEST = tuple(rule for rule in RULES if not rule.reads_history)
"""Those that look at the request and its text alone: they say the same whatever happens meanwhile."""
OF_HISTORY = tuple(rule for rule in RULES if rule.reads_history)

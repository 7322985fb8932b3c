"""Every rule, in one table."""

from aex_governance.rules import claimed_metric_mismatch, metric_out_of_bounds, self_dealing

RULES = (metric_out_of_bounds.RULE, claimed_metric_mismatch.RULE, self_dealing.RULE)

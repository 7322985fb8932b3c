"""Which verdicts rest on the consumer's own code, and whose fault it is where there is none."""

from aex_models.criteria import SuccessCriteria
from aex_models.faults import Fault
from aex_models.results import CUSTOM_METRIC_FAILED, VerificationResult
from aex_models.work import Evaluation
from aex_outcomes.custom_names import is_custom
from aex_outcomes.sandbox.port import SANDBOX_UNAVAILABLE

_MAX_CUSTOM_S = 600.0
"""However many custom metrics a work has, and however long each may take."""


def needs_custom_code(criteria: SuccessCriteria | None) -> bool:
    """Whether a verdict waits for custom code."""
    return criteria is not None and any(is_custom(each.metric) for each in criteria.criteria)


def custom_runs(criteria: SuccessCriteria | None, evaluation: Evaluation | None) -> int:
    """How many runs of custom code a verdict takes at most; 0 where it needs none."""
    if criteria is None or evaluation is None or not evaluation.custom_metrics:
        return 0
    return sum(is_custom(each.metric) for each in criteria.criteria)


def custom_seconds(runs: int, timeout_ms: int) -> float:
    """What so many runs may take in all, bounded."""
    return min(runs * timeout_ms / 1_000, _MAX_CUSTOM_S)


def misses_the_sandbox(result: VerificationResult) -> bool:
    """Whether a worker found that it could run no custom code at all."""
    return any(each.error is not None and each.error.code == SANDBOX_UNAVAILABLE for each in result.criterion_results)


def is_fault_of_custom_code(result: VerificationResult) -> bool:
    """Whether nothing but the consumer's own code kept the verdict from being given: no repeat will give another."""
    errors = [each.error for each in result.criterion_results if each.error is not None]
    codes = [error.code for error in errors if error.fault is Fault.PLATFORM]
    return bool(codes) and set(codes) == {CUSTOM_METRIC_FAILED}

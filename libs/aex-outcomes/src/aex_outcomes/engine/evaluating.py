"""One criterion, evaluated."""

from typing import Any

from aex_models.catalog import MetricEntry
from aex_models.criteria import SuccessCriterion
from aex_models.faults import Fault
from aex_models.results import CUSTOM_METRIC_FAILED, METRIC_MISSING, CriterionError, CriterionResult, Provenance
from aex_outcomes.custom_names import is_custom
from aex_outcomes.engine.comparing import in_fractions, meets, value_problem
from aex_outcomes.engine.readings import Reading


def evaluate_criterion(
    criterion: SuccessCriterion, reading: Reading, entry: MetricEntry, *, required: bool, secret: bool
) -> CriterionResult:
    """Hold one reading against its criterion. An error of any kind is unmet, and the value then None."""
    value = in_fractions(criterion, reading.value)
    error = _error(criterion, reading, value, entry)
    return CriterionResult(
        metric=criterion.metric,
        metric_type=criterion.metric_type,
        value=None if error else value,
        threshold=criterion.threshold,
        comparison=criterion.comparison,
        met=error is None and meets(criterion, value),
        required=required,
        weight=criterion.weight,
        bonus=criterion.bonus,
        penalty=criterion.penalty,
        error=error,
        provenance=reading.provenance or entry.provenance,
        secret=secret or reading.secret,
    )


def _error(criterion: SuccessCriterion, reading: Reading, value: Any, entry: MetricEntry) -> CriterionError | None:
    if reading.error is not None:
        return reading.error
    if value is None:
        return missing(entry)
    problem = value_problem(criterion, value, entry)
    if problem is None:
        return None
    if is_custom(criterion.metric):  # the consumer's code computed it: the agent is not to blame for what it says
        return CriterionError(code=CUSTOM_METRIC_FAILED, message=f"{problem[0]}: {problem[1]}", fault=Fault.PLATFORM)
    return CriterionError(code=problem[0], message=problem[1])


def missing(entry: MetricEntry) -> CriterionError:
    """A metric that nobody supplied: the agent's doing, unless the platform alone could have measured it."""
    fault = Fault.PLATFORM if entry.provenance is Provenance.MEASURED else Fault.AGENT
    return CriterionError(code=METRIC_MISSING, message=f"{entry.name} is missing", fault=fault)

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from aex_models.criteria import SuccessCriterion, build_criterion_identity_key
from aex_models.numbers import is_finite_number, is_integral_number
from aex_models.thresholds import COMPARISONS, UNIT_TYPES, ComparisonOperator, MetricType, find_threshold_problem
from tests.fuzz.effort import effort, soon
from tests.fuzz.values import INVALID, JSON, TEXT

RANGES = st.fixed_dictionaries({}, optional={"min": JSON, "max": JSON, "mid": JSON})
ANYTHING = INVALID | RANGES | st.lists(TEXT, max_size=5)


def in_bounds(kind: MetricType, bound: Any) -> bool:
    if not is_finite_number(bound):
        return False
    if kind in UNIT_TYPES:
        return bool(0 <= bound <= 1)
    if kind is MetricType.PERCENTAGE:
        return bool(0 <= bound <= 100)
    if kind is MetricType.COUNT:
        return is_integral_number(bound) and bool(bound >= 0)
    return kind is not MetricType.LATENCY or bool(bound >= 0)


def fits(kind: MetricType, comparison: ComparisonOperator, threshold: Any) -> bool:
    if comparison is not ComparisonOperator.IN_RANGE:
        return in_bounds(kind, threshold)
    if not isinstance(threshold, dict) or not threshold or not set(threshold) <= {"min", "max"}:
        return False
    ends = [threshold[end] for end in ("min", "max") if end in threshold]
    return all(in_bounds(kind, end) for end in ends) and ends == sorted(ends)


@effort()
@given(st.sampled_from(MetricType), st.sampled_from(ComparisonOperator), ANYTHING)
def test_threshold_fits_or_is_refused_with_reason(
    kind: MetricType, comparison: ComparisonOperator, threshold: Any
) -> None:
    if comparison not in COMPARISONS[kind]:
        return
    problem = soon(find_threshold_problem, kind, comparison, threshold)
    assert problem is None or problem.encode()
    numeric = kind not in (MetricType.BOOLEAN, MetricType.MATCHES_SCHEMA) and not comparison.startswith("contains_")
    if numeric and not (kind is MetricType.CUSTOM and isinstance(threshold, bool)):
        assert (problem is None) is fits(kind, comparison, threshold)


@effort()
@given(
    st.fixed_dictionaries(
        {
            "metric": TEXT | st.text(max_size=130),
            "metric_type": st.sampled_from([*MetricType]) | TEXT,
            "comparison": st.sampled_from([*ComparisonOperator]) | TEXT,
            "threshold": ANYTHING,
        },
        optional={"scale": st.sampled_from(["fraction", "percent"]) | JSON, "weight": INVALID, "required": INVALID},
    )
)
def test_criterion_is_read_or_refused_at_its_fields(raw: dict[str, Any]) -> None:
    try:
        criterion = soon(SuccessCriterion.model_validate, raw)
    except ValidationError as refused:
        assert {each["loc"][0] for each in refused.errors()} <= set(raw)  # noqa: PT017 either of the two may happen
        return
    assert build_criterion_identity_key(
        SuccessCriterion.model_validate_json(criterion.model_dump_json())
    ) == build_criterion_identity_key(criterion)

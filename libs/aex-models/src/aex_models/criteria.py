"""Success criteria: what a candidate must reach, and the bonus or penalty for each criterion."""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field, ValidationInfo, WithJsonSchema, field_validator
from pydantic_core import PydanticCustomError

from aex_models.frozen import Frozen, StrictBool, StrictInt
from aex_models.money import MAX_AMOUNT, ZERO, MoneyOrNull
from aex_models.numbers import is_finite_number
from aex_models.thresholds import COMPARISONS, ComparisonOperator, MetricType, find_threshold_problem


class Aggregation(StrEnum):
    """The rule that combines the criteria into one verdict."""

    ALL = "all"
    """Every required criterion has to be met."""
    ANY = "any"
    """At least one criterion and every required criterion has to be met."""
    WEIGHTED = "weighted"
    """The met criteria need a share of `minimum_weighted_score` of all weights. Required criteria have to be met."""


class BonusPolicy(StrEnum):
    """The condition under which verified bonuses are paid."""

    ON_SUCCESS = "on_success"
    """Bonuses of met criteria are paid where the outcome succeeds."""
    PER_CRITERION = "per_criterion"
    """The bonus of each met criterion is paid, whether or not the outcome succeeds."""


class Scale(StrEnum):
    """The scale in which a percentage is written: 0.9 (fraction) or 90 (percent)."""

    FRACTION = "fraction"
    """From 0 to 1."""
    PERCENT = "percent"
    """From 0 to 100."""


MetricName = Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[A-Za-z_][A-Za-z0-9_.-]*$")]
CriterionIndex = Annotated[StrictInt, Field(ge=0)]
FinitePositive = Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)]
DEFAULT_MINIMUM = 0.5
"""`minimum_weighted_score` of criteria that set none."""
MinimumScore = Annotated[
    float,
    Field(ge=0, le=1),
    WithJsonSchema({"anyOf": [{"type": "number", "minimum": 0, "maximum": 1}, {"type": "null"}]}, mode="validation"),
]
MAX_CRITERIA = 10
"""`max_criteria_per_task` of an installation that configures nothing."""


class SuccessCriterion(Frozen):
    """A requirement on a candidate: a metric compared with a threshold, its weight, bonus and penalty."""

    metric: MetricName
    """Name of a metric of the catalogue, of own code (`custom.NAME`) or of a statistic (`stat.NAME`)."""
    metric_type: MetricType
    """Kind of the metric's value, one of those that the catalogue lists for it."""
    comparison: ComparisonOperator
    """Comparison of the value with the threshold."""
    threshold: Annotated[
        Any,
        WithJsonSchema(
            {
                "anyOf": [
                    {"type": "number"},
                    {"type": "boolean"},
                    {"type": "object"},
                    {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1},
                ],
            }
        ),
    ]
    """Value to compare with: a number, true or false, `{min, max}`, a list of terms, or a JSON Schema."""
    weight: FinitePositive = 1.0
    """Share in the weighted score, relative to the other criteria's weights."""
    required: StrictBool | None = None
    """True if success needs this criterion. Unset: true under `all`, false under `any` and `weighted`."""
    bonus: MoneyOrNull = ZERO
    """Amount paid when the criterion is met, by the `bonus_policy`; null is 0."""
    penalty: MoneyOrNull = ZERO
    """Amount subtracted when the criterion is not met; null is 0."""
    scale: Scale | None = None
    """Scale of a percentage's threshold, and of a custom metric's value; other types have none."""

    @field_validator("weight", mode="before")
    @classmethod
    def _weight_is_a_number(cls, weight: Any) -> Any:
        if isinstance(weight, bool | str):
            raise PydanticCustomError("invalid_weight", "Weight must be a number above 0")
        return weight

    @field_validator("comparison")
    @classmethod
    def _comparison_fits(cls, comparison: ComparisonOperator, info: ValidationInfo) -> ComparisonOperator:
        # Field by field, not over the whole: a bad bonus must not hide a bad threshold of the same criterion.
        metric_type = info.data.get("metric_type")
        if metric_type and comparison not in COMPARISONS[metric_type]:
            taken = ", ".join(sorted(COMPARISONS[metric_type]))
            raise PydanticCustomError(
                "invalid_comparison",
                "Invalid comparison for metric: {metric} ({metric_type} takes {taken})",
                {"metric": info.data.get("metric", "?"), "metric_type": metric_type.value, "taken": taken},
            )
        return comparison

    @field_validator("threshold")
    @classmethod
    def _threshold_fits(cls, threshold: Any, info: ValidationInfo) -> Any:
        if "metric_type" in info.data and "comparison" in info.data:
            problem = find_threshold_problem(info.data["metric_type"], info.data["comparison"], threshold)
            if problem:
                raise _threshold_error("threshold", problem, info)
        return threshold

    @field_validator("scale")
    @classmethod
    def _scale_fits(cls, scale: Scale | None, info: ValidationInfo) -> Scale | None:
        if scale is None or "metric_type" not in info.data:
            return scale
        if info.data["metric_type"] is not MetricType.PERCENTAGE:
            raise _threshold_error("scale", "scale is for percentages alone", info)
        # Without a valid comparison the threshold may be of any type; the comparison's own problem is reported.
        threshold = info.data.get("threshold", 0) if "comparison" in info.data else 0
        ends = threshold.values() if isinstance(threshold, dict) else [threshold]
        if scale is Scale.FRACTION and any(end > 1 for end in ends):
            raise _threshold_error("threshold", "a fraction is at most 1; set scale to percent, or divide by 100", info)
        return scale


def _threshold_error(what: str, why: str, info: ValidationInfo) -> PydanticCustomError:
    metric = info.data.get("metric", "?")
    message = f"Invalid {what} for metric: {{metric}} ({{why}})"
    return PydanticCustomError(f"invalid_{what}", message, {"metric": metric, "why": why})


class SuccessCriteria(Frozen):
    """The criteria of a work and how they combine."""

    criteria: tuple[SuccessCriterion, ...] = Field(max_length=100, json_schema_extra={"minItems": 1})
    """Criteria, at least one; the configuration's `max_criteria_per_task` bounds them."""
    aggregation: Aggregation = Aggregation.ALL
    """Rule that combines the criteria into one verdict."""
    minimum_weighted_score: MinimumScore = DEFAULT_MINIMUM
    """Least share of the weights that must be met under `weighted`; 0.0 is a legal value, null is the default."""
    bonus_policy: BonusPolicy = BonusPolicy.ON_SUCCESS
    """Condition under which bonuses are paid."""

    @field_validator("minimum_weighted_score", mode="before")
    @classmethod
    def _minimum_is_a_number(cls, minimum: Any) -> Any:
        if isinstance(minimum, bool | str):
            raise PydanticCustomError("invalid_minimum", "minimum_weighted_score must be a number from 0 to 1")
        return DEFAULT_MINIMUM if minimum is None else minimum

    @field_validator("criteria", mode="before")
    @classmethod
    def _check_not_empty(cls, criteria: Any) -> Any:
        # Not by min_length: that counts only the valid ones, and would report two problems for one.
        if isinstance(criteria, list | tuple) and not criteria:
            raise PydanticCustomError("too_short", "At least one criterion is needed")
        return criteria

    @field_validator("criteria")
    @classmethod
    def _check_duplicates(cls, criteria: tuple[SuccessCriterion, ...]) -> tuple[SuccessCriterion, ...]:
        seen: dict[str, int] = {}
        for position, criterion in enumerate(criteria):
            first = seen.setdefault(build_criterion_identity_key(criterion), position)
            if first != position:
                raise PydanticCustomError(
                    "duplicate_criterion",
                    "Criteria {first} and {second} are the same: metric {metric}, comparison and threshold",
                    {"first": first, "second": position, "metric": criterion.metric},
                )
        return criteria

    @field_validator("criteria")
    @classmethod
    def _sums_are_payable(cls, criteria: tuple[SuccessCriterion, ...]) -> tuple[SuccessCriterion, ...]:
        for name in ("bonus", "penalty"):
            if sum((getattr(each, name) for each in criteria), ZERO) > MAX_AMOUNT:
                raise PydanticCustomError(
                    "money_too_large",
                    "The criteria's {name} amounts sum to more than {limit}",
                    {"name": name, "limit": str(MAX_AMOUNT)},
                )
        return criteria


def build_criterion_identity_key(criterion: SuccessCriterion) -> str:
    """Return a key that is equal for criteria with the same metric, comparison and threshold."""
    return f"{criterion.metric}\0{criterion.comparison}\0{_encode_threshold(criterion.threshold)}"


def _encode_threshold(threshold: Any) -> str:
    """Return a text that is equal for equal thresholds: 1 equals 1.0, 0 equals -0.0, 1 differs from True."""
    if is_finite_number(threshold):
        return repr(float(threshold) + 0.0)
    if isinstance(threshold, dict):
        return repr(sorted((key, _encode_threshold(item)) for key, item in threshold.items()))
    if isinstance(threshold, list | tuple):
        return repr([_encode_threshold(item) for item in threshold])
    return repr(threshold)

"""Success criteria: what a candidate must reach, and what reaching it is worth."""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field, WithJsonSchema, field_validator, model_validator
from pydantic_core import PydanticCustomError

from aex_models.frozen import Frozen, StrictBool
from aex_models.money import ZERO, Money
from aex_models.numbers import is_number
from aex_models.thresholds import COMPARISONS, ComparisonOperator, MetricType, threshold_problem


class Aggregation(StrEnum):
    """How the criteria combine into one verdict."""

    ALL = "all"
    ANY = "any"
    WEIGHTED = "weighted"


class BonusPolicy(StrEnum):
    """When verified bonuses are paid."""

    ON_SUCCESS = "on_success"
    PER_CRITERION = "per_criterion"


class Scale(StrEnum):
    """How a percentage's threshold is written: 0.9 or 90."""

    FRACTION = "fraction"
    PERCENT = "percent"


MetricName = Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[A-Za-z_][A-Za-z0-9_.-]*$")]
FinitePositive = Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)]
MAX_CRITERIA = 10
"""`max_criteria_per_task` of an installation that configures nothing."""


class SuccessCriterion(Frozen):
    """One metric held against one threshold, with its weight and its money."""

    metric: MetricName
    metric_type: MetricType
    comparison: ComparisonOperator
    threshold: Annotated[
        Any,
        WithJsonSchema(
            {
                "description": "A number, true or false, {min, max}, a list of terms, or a JSON Schema",
                "anyOf": [
                    {"type": "number"},
                    {"type": "boolean"},
                    {"type": "object"},
                    {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1},
                ],
            }
        ),
    ]
    weight: FinitePositive = 1.0
    required: StrictBool | None = None
    """Unset: true under `all`, false under `any` and `weighted`."""
    bonus: Money = ZERO
    penalty: Money = ZERO
    scale: Scale | None = None
    """For percentages alone: how the threshold (and a custom metric's value) is written."""

    @field_validator("weight", mode="before")
    @classmethod
    def _weight_is_a_number(cls, weight: Any) -> Any:
        if isinstance(weight, bool | str):
            raise PydanticCustomError("invalid_weight", "Weight must be a number above 0")
        return weight

    @model_validator(mode="after")
    def _threshold_fits(self) -> "SuccessCriterion":
        name = {"metric": self.metric}
        if self.comparison not in COMPARISONS[self.metric_type]:
            taken = ", ".join(sorted(COMPARISONS[self.metric_type]))
            raise PydanticCustomError(
                "invalid_comparison",
                "Invalid comparison for metric: {metric} ({metric_type} takes {taken})",
                {**name, "metric_type": self.metric_type.value, "taken": taken},
            )
        problem = threshold_problem(self.metric_type, self.comparison, self.threshold) or self._scale_problem()
        if problem:
            raise PydanticCustomError(
                "invalid_threshold",
                "Invalid threshold for metric: {metric} ({why})",
                {**name, "why": problem},
            )
        return self

    def _scale_problem(self) -> str | None:
        if self.scale is None:
            return None
        if self.metric_type is not MetricType.PERCENTAGE:
            return "scale is for percentages alone"
        ends = self.threshold.values() if isinstance(self.threshold, dict) else [self.threshold]
        if self.scale is Scale.FRACTION and any(end > 1 for end in ends):
            return "a fraction is at most 1; set scale to percent, or divide by 100"
        return None


class SuccessCriteria(Frozen):
    """The criteria of a work and how they combine."""

    criteria: tuple[SuccessCriterion, ...] = Field(min_length=1, max_length=100)
    aggregation: Aggregation = Aggregation.ALL
    minimum_weighted_score: Annotated[float, Field(ge=0, le=1)] = 0.5
    """Only for `weighted`; 0.0 is a legal value."""
    bonus_policy: BonusPolicy = BonusPolicy.ON_SUCCESS

    @field_validator("minimum_weighted_score", mode="before")
    @classmethod
    def _minimum_is_a_number(cls, minimum: Any) -> Any:
        if isinstance(minimum, bool | str):
            raise PydanticCustomError("invalid_minimum", "minimum_weighted_score must be a number from 0 to 1")
        return minimum

    @model_validator(mode="after")
    def _no_duplicates(self) -> "SuccessCriteria":
        seen: dict[str, int] = {}
        for position, criterion in enumerate(self.criteria):
            identity = f"{criterion.metric}\0{criterion.comparison}\0{_identity(criterion.threshold)}"
            if identity in seen:
                raise PydanticCustomError(
                    "duplicate_criterion",
                    "Criteria {first} and {second} are the same: metric {metric}, comparison and threshold",
                    {"first": seen[identity], "second": position, "metric": criterion.metric},
                )
            seen[identity] = position
        return self


def _identity(threshold: Any) -> str:
    """Equal thresholds have equal texts: 1 and 1.0 do, 1 and True do not."""
    if is_number(threshold):
        return repr(float(threshold))
    if isinstance(threshold, dict):
        return repr(sorted((key, _identity(item)) for key, item in threshold.items()))
    if isinstance(threshold, list | tuple):
        return repr([_identity(item) for item in threshold])
    return repr(threshold)

"""Lines of a batch verification, and the summary of its verdicts."""

from typing import Annotated, Any

from pydantic import Field

from aex_models.contract import ExecutionMetadata
from aex_models.criteria import CriterionIndex, MetricName
from aex_models.frozen import Frozen, StrictInt
from aex_models.thresholds import ComparisonOperator

MAX_OUTPUTS = 1_000
"""Maximum of outputs of one batch."""
MAX_BATCH_BYTES = 10_000_000
"""Maximum size of the body of one batch."""


class BatchOutput(Frozen):
    """A line of a batch: an output, with its own metadata and evaluation data.

    Members of `execution_metadata` and `evaluation` replace those of the first line one by one.
    """

    id: Annotated[str, Field(max_length=200)] | StrictInt | None = None
    """The caller's own id, which the answer repeats."""
    output: Any
    execution_metadata: ExecutionMetadata = ExecutionMetadata()
    evaluation: dict[str, Any] | None = None


class Proportion(Frozen):
    """A share of outputs, with its 95 % confidence interval after Wilson."""

    count: int
    total: int
    share: float | None = None
    """The count divided by the total; None if the total is 0."""
    low: float | None = None
    """Lower end of the interval; None if the total is 0."""
    high: float | None = None
    """Upper end of the interval; None if the total is 0."""


class CriterionSummary(Frozen):
    """The numbers of outputs that met one criterion, or for which it is unknown."""

    criterion: CriterionIndex
    """Index of the criterion in the success criteria."""
    metric: MetricName
    comparison: ComparisonOperator
    met: Proportion
    """Outputs that met it, of those with a known result."""
    indeterminate: int
    """Outputs for which it could not be computed, by the platform's fault."""


class BatchSummary(Frozen):
    """The verdicts of a batch in numbers, with the shares that passed and that met each criterion."""

    outputs: int
    """Lines after the first: all verdicts and problems."""
    passed: int
    rejected: int
    indeterminate: int
    """Outputs without a verdict, by the platform's fault. They count in no share."""
    problems: int
    """Lines that were refused. They count in no share."""
    pass_rate: Proportion
    """Outputs that passed, of those that passed or were rejected."""
    mean_weighted_score: float | None = None
    """Mean score of the outputs that passed or were rejected; None if there are none."""
    criteria: tuple[CriterionSummary, ...] = ()

"""Evaluation data of a work: references, labels, terms, schemas and the consumer's own metrics."""

from typing import Annotated, Any

from pydantic import Field, field_validator
from pydantic_core import PydanticCustomError

from aex_models.criteria import MetricName
from aex_models.frozen import Frozen, StrictBool, StrictInt
from aex_models.grader_data import (
    ChoiceAnswer,
    ExpectedRanking,
    ExpectedRecords,
    JsonPointer,
    Number,
    NumericAnswer,
    SqlTask,
    Target,
)
from aex_models.hidden_tests import HiddenTests
from aex_models.thresholds import MAX_TERM_LENGTH, MAX_TERMS


class CustomMetric(Frozen):
    """A metric computed by the consumer's own code, in the sandbox."""

    name: MetricName
    """NAME of the metrics `custom.NAME` and `custom.NAME.KEY`."""
    code: Annotated[str, Field(min_length=1, max_length=262_144)]
    """Python with a function `evaluate(input, output, metadata)` that returns a number, a boolean or a dict of them."""


class GroundTruth(Frozen):
    """The true label of an item, and the item's id if it has one."""

    label: str | StrictInt | StrictBool
    """The true label."""
    id: str | StrictInt | None = None
    """Id by which predictions are matched, if every item and every prediction has one."""


DataName = Annotated[str, Field(min_length=1, max_length=64, pattern=r"^[A-Za-z_][A-Za-z0-9_-]*$")]
TermList = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=MAX_TERM_LENGTH)]], Field(min_length=1, max_length=MAX_TERMS)
]


class GraderData(Frozen):
    """The evaluation data that graders read, as a whole work's data and as named data."""

    reference: (
        Annotated[str, Field(min_length=1)]
        | Annotated[list[Annotated[str, Field(min_length=1)]], Field(min_length=1)]
        | None
    ) = None
    """Reference text, or several, for BLEU and ROUGE."""
    ground_truth: Annotated[list[GroundTruth | str | StrictInt | StrictBool], Field(min_length=1)] | None = None
    """True labels, for accuracy, precision, recall and F1."""
    required_keywords: TermList | None = None
    """Terms to find in the output's text."""
    pattern: Annotated[str, Field(min_length=1, max_length=10_000)] | None = None
    """An RE2 pattern to find in the output's text."""
    output_schema: dict[str, Any] | None = None
    """A JSON Schema for the output."""
    required_fields: TermList | None = None
    """Keys of the output, or JSON pointers into it, that must be present."""
    numeric: NumericAnswer | None = None
    """Expected number, for `numeric_match`."""
    choice: ChoiceAnswer | None = None
    """Correct options, for `choice_match`."""
    records: ExpectedRecords | None = None
    """Expected records, for the metrics of extraction."""
    ranking: ExpectedRanking | None = None
    """Relevance of items, for the metrics of ranking."""
    targets: Annotated[list[Target | Number], Field(min_length=1)] | None = None
    """True numbers, for the metrics of regression."""
    sql: SqlTask | None = None
    """Tables and expected result of a query, for `sql_result_match`."""

    @field_validator("required_keywords", "required_fields")
    @classmethod
    def _none_blank(cls, terms: list[str] | None) -> list[str] | None:
        if terms is not None and any(not term.strip() for term in terms):
            raise PydanticCustomError("blank_term", "Terms must not be blank")
        return terms


class NamedData(GraderData):
    """The evaluation data of one part of the output, under a name."""

    at: JsonPointer | None = None
    """Location of that part in the output, which replaces the metric's own."""


class Evaluation(GraderData):
    """The consumer's secret evaluation data, such as references and true labels. Agents never see them."""

    custom_metrics: tuple[CustomMetric, ...] = ()
    """Metrics that the consumer's own code computes, 20 at most."""
    tests: HiddenTests | None = None
    """Tests that run against the agent's program."""
    named: Annotated[dict[DataName, NamedData], Field(max_length=20)] = {}
    """Data for the metrics METRIC.NAME, by NAME."""

    @property
    def has_code(self) -> bool:
        """Return True if the data have code that is tried before the work is open: metrics, tests or a query."""
        tasks = [each.sql for each in (self, *self.named.values())]
        has_query = any(task is not None and task.expected.query is not None for task in tasks)
        return bool(self.custom_metrics) or self.tests is not None or has_query


EVALUATION_KEYS = frozenset(Evaluation.model_fields)
"""Names of evaluation data."""
KEYS_ALLOWED_IN_INPUT = frozenset({"numeric", "choice", "records", "ranking", "targets", "tests", "sql", "named"})
"""Names of evaluation data that `input` may contain as keys, if the work's evaluation data do not."""

"""Required terms, patterns, schemas and fields."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from aex_models.catalog import Direction, MetricEntry
from aex_models.thresholds import MetricType
from aex_models.work import Problem
from aex_outcomes.extractors.protocol import AgentFault, MetricValue
from aex_outcomes.extractors.recent import Recent
from aex_outcomes.extractors.text import MAX_TEXT_LENGTH, TEXT_POINTER, UNFOLDED, checked_pointer, text_of
from aex_outcomes.kernels.folding import UnfoldsTooFar
from aex_outcomes.kernels.keywords import presence_in, searchable
from aex_outcomes.kernels.patterns import InvalidPattern, check_pattern, compile_pattern
from aex_outcomes.kernels.schemas import InvalidSchema, NotJson, compile_schema, conforms, schema_text
from aex_outcomes.pointer import MISSING, resolve

if TYPE_CHECKING:
    from aex_outcomes.kernels.patterns import Pattern
    from aex_outcomes.kernels.schemas import Validator

_COMPILED = 64


@dataclass(frozen=True, slots=True)
class ContainsExtractor:
    """Terms and patterns are looked for in the text at `text_pointer` alone; schema and fields in the whole output.

    `matches_pattern`: RE2 finds the pattern anywhere (anchor it with ^ and $ to match the whole text).
    `has_required_fields`: each is a key of the output, or a JSON pointer into it; null counts as present.
    A text that unfolds to more than twice its greatest length is the agent's error, as one that is too long is.
    """

    text_pointer: str = TEXT_POINTER
    max_text_length: int = MAX_TEXT_LENGTH
    wanted: frozenset[str] | None = None
    """None: all metrics that there are evaluation data for."""
    _texts: Recent[str, str | AgentFault] = field(default_factory=lambda: Recent(1))
    """The last text, prepared once for all criteria that bring terms of their own."""
    _patterns: "Recent[str, Pattern]" = field(default_factory=lambda: Recent(_COMPILED))
    _schemas: "Recent[str, Validator]" = field(default_factory=lambda: Recent(_COMPILED))
    version = "3"

    def __post_init__(self) -> None:
        checked_pointer(self.text_pointer)

    def only(self, metrics: frozenset[str]) -> "ContainsExtractor":
        """The same extractor (and the same prepared patterns, schemas and text) for fewer metrics."""
        return replace(self, wanted=metrics)

    async def extract(
        self,
        task_input: Mapping[str, Any],
        task_output: Any,
        metadata: Mapping[str, Any],  # noqa: ARG002 part of the protocol
    ) -> dict[str, MetricValue]:
        """A metric for each of the four kinds of evaluation data that are there."""
        metrics: dict[str, MetricValue] = {}
        terms = self._data(task_input, "contains_keywords", "required_keywords")
        pattern = self._data(task_input, "matches_pattern", "pattern")
        if terms or pattern:
            metrics |= self._of_text(terms, pattern, task_output)
        schema = self._data(task_input, "matches_schema", "output_schema")
        if isinstance(schema, Mapping):
            metrics["matches_schema"] = self._conforms(schema_text(schema), task_output)
        fields = self._data(task_input, "has_required_fields", "required_fields")
        if fields:
            metrics["has_required_fields"] = all(_has(task_output, each) for each in fields)
        return metrics

    def _data(self, task_input: Mapping[str, Any], metric: str, key: str) -> Any:
        """What a metric is computed from; None where nobody asks for the metric."""
        return task_input.get(key) if self.wanted is None or metric in self.wanted else None

    def _conforms(self, schema: str, output: Any) -> MetricValue:
        try:
            return conforms(self._schemas.get(schema, lambda: compile_schema(schema)), output)
        except NotJson as error:
            return AgentFault("not_json", f"the output is {error}")

    def _of_text(self, terms: Any, pattern: Any, output: Any) -> dict[str, MetricValue]:
        text = text_of(output, self.text_pointer, self.max_text_length)
        if text is None:
            return {}
        metrics: dict[str, MetricValue] = {}
        if terms:
            metrics["contains_keywords"] = self._share(text, terms)
        if pattern:
            metrics["matches_pattern"] = self._matches(text, pattern)
        return metrics

    def _share(self, text: str, terms: Sequence[str]) -> MetricValue:
        prepared = self._texts.get(text, lambda: self._searchable(text))
        return prepared if isinstance(prepared, AgentFault) else presence_in(prepared, terms).share

    def _searchable(self, text: str) -> str | AgentFault:
        try:
            return searchable(text, UNFOLDED * self.max_text_length)
        except UnfoldsTooFar as error:
            return AgentFault("text_too_long", str(error))

    def _matches(self, text: str, pattern: str) -> MetricValue:
        compiled = self._patterns.get(pattern, lambda: compile_pattern(pattern))
        return compiled.search(text) is not None

    def supported_metrics(self) -> list[str]:
        """One metric for each kind of evaluation data."""
        return [entry.name for entry in self.catalog_entries()]

    def catalog_entries(self) -> tuple[MetricEntry, ...]:
        """All are computed from evaluation data, unless the criterion's own threshold carries terms or schema."""
        return (
            MetricEntry(
                name="contains_keywords",
                unit="fraction",
                range=(0, 1),
                direction=Direction.HIGHER,
                metric_types=(MetricType.CONTAINS, MetricType.PERCENTAGE, MetricType.NUMERIC),
                needs=("required_keywords",),
                secret=True,
            ),
            _flag("matches_pattern", "pattern", MetricType.BOOLEAN),
            _flag("matches_schema", "output_schema", MetricType.MATCHES_SCHEMA, MetricType.BOOLEAN),
            _flag("has_required_fields", "required_fields", MetricType.BOOLEAN),
        )

    def check_evaluation(self, evaluation: Mapping[str, Any]) -> Iterable[Problem]:
        """Patterns must compile on RE2 and repeat within bounds; schemas must be valid and refer to nothing outside."""
        pattern, schema = evaluation.get("pattern"), evaluation.get("output_schema")
        if isinstance(pattern, str):
            try:
                check_pattern(pattern)
            except InvalidPattern as error:
                yield Problem(path="/pattern", code="invalid_pattern", message=str(error))
        if isinstance(schema, Mapping):
            try:
                compile_schema(schema_text(schema))
            except InvalidSchema as error:
                yield Problem(path=f"/output_schema{error.path}", code=error.code, message=str(error))


def _flag(name: str, needs: str, *types: MetricType) -> MetricEntry:
    return MetricEntry(
        name=name, unit="boolean", direction=Direction.HIGHER, metric_types=types, needs=(needs,), secret=True
    )


def _has(output: Any, wanted: str) -> bool:
    if wanted.startswith("/"):
        return resolve(output, wanted) is not MISSING
    return isinstance(output, Mapping) and wanted in output

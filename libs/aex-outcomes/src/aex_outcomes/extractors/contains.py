"""Extractor that checks outputs for required terms, a pattern, a JSON Schema and required fields."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from aex_models.catalog import Direction, MetricEntry
from aex_models.thresholds import MetricType
from aex_models.work import Problem
from aex_outcomes.extractors.catalog_entries import build_secret_score_entry
from aex_outcomes.extractors.protocol import AgentFault, Metrics
from aex_outcomes.extractors.text_quality import (
    MAX_NORMALIZED_GROWTH,
    MAX_TEXT_LENGTH,
    TEXT_POINTER,
    read_text,
    require_json_pointer,
)
from aex_outcomes.json_values import MISSING, resolve_pointer
from aex_outcomes.kernels.keywords import compute_term_share, to_searchable_text
from aex_outcomes.kernels.normalization import NormalizedTooLong
from aex_outcomes.kernels.patterns import InvalidPattern, Pattern, check_pattern, compile_pattern
from aex_outcomes.kernels.schemas import (
    InvalidInstance,
    InvalidSchema,
    Validator,
    compile_schema,
    conforms_to_schema,
    serialize_schema,
)

_COMPILED = 64


def _prepare_text(text: str, allowed_length: int) -> str | AgentFault:
    try:
        return to_searchable_text(text, allowed_length)
    except NormalizedTooLong as error:
        return AgentFault("text_too_long", str(error))


@dataclass(frozen=True, slots=True)
class ContainsExtractor:
    """Extractor of required terms, a pattern, a JSON Schema and required fields.

    Terms and pattern are searched in the text at `text_pointer` of the output. `matches_pattern`: RE2 finds the pattern
    anywhere in the text; anchor it with ^ and $ to match the complete text. `has_required_fields`: share of the fields
    that are present, each a key of the output or a JSON pointer into it; null counts as present. A text longer than
    `max_text_length`, or longer than twice as much after normalisation, is the agent's fault.
    """

    text_pointer: str = TEXT_POINTER
    """JSON pointer to the text in the output."""
    max_text_length: int = MAX_TEXT_LENGTH
    """Code points of a text; a longer one is the agent's fault."""
    part_pointer: str = ""
    """JSON pointer to the part of the output that schema and required fields apply to."""
    selected_metrics: frozenset[str] | None = None
    """Metrics to compute; None for all that have evaluation data."""
    _prepare: Callable[[str, int], str | AgentFault] = field(default_factory=lambda: lru_cache(1)(_prepare_text))
    """Function that prepares a text for searching; cached for criteria that have terms of their own."""
    _compile_pattern: Callable[[str], Pattern] = field(default_factory=lambda: lru_cache(_COMPILED)(compile_pattern))
    _compile_schema: Callable[[str], Validator] = field(default_factory=lambda: lru_cache(_COMPILED)(compile_schema))
    version = "4"

    def __post_init__(self) -> None:
        require_json_pointer(self.text_pointer)

    def for_metrics(self, metrics: frozenset[str]) -> "ContainsExtractor":
        """Return an extractor of these metrics alone, which shares this one's caches."""
        return replace(self, selected_metrics=metrics)

    def at_pointer(self, pointer: str) -> "ContainsExtractor":
        """Return an extractor that checks the part of the output at this JSON pointer."""
        return replace(self, text_pointer=pointer, part_pointer=pointer)

    async def extract(self, task_input: Mapping[str, Any], task_output: Any, metadata: Mapping[str, Any]) -> Metrics:
        """Return the selected metrics whose evaluation data are present in `task_input`."""
        metrics: Metrics = {}
        terms = self._data(task_input, "contains_keywords", "required_keywords")
        pattern = self._data(task_input, "matches_pattern", "pattern")
        text = read_text(task_output, self.text_pointer, self.max_text_length) if terms or pattern else None
        if text is not None and terms:
            prepared = self._prepare(text, MAX_NORMALIZED_GROWTH * self.max_text_length)
            metrics["contains_keywords"] = (
                prepared if isinstance(prepared, AgentFault) else compute_term_share(prepared, terms)
            )
        if text is not None and pattern:
            metrics["matches_pattern"] = self._compile_pattern(pattern).search(text) is not None
        part = resolve_pointer(task_output, self.part_pointer)
        if part is MISSING:
            return metrics
        schema = self._data(task_input, "matches_schema", "output_schema")
        if isinstance(schema, Mapping):
            try:
                metrics["matches_schema"] = conforms_to_schema(self._compile_schema(serialize_schema(schema)), part)
            except InvalidInstance as error:
                metrics["matches_schema"] = AgentFault("not_json", f"the output is {error}")
        fields = self._data(task_input, "has_required_fields", "required_fields")
        if fields:
            distinct = set(fields)
            metrics["has_required_fields"] = sum(_has_field(part, each) for each in distinct) / len(distinct)
        return metrics

    def _data(self, task_input: Mapping[str, Any], metric: str, key: str) -> Any:
        """Return the evaluation data of a metric; None if there are none, or if the metric is not selected."""
        return task_input.get(key) if self.selected_metrics is None or metric in self.selected_metrics else None

    def supported_metrics(self) -> list[str]:
        return [entry.name for entry in self.catalog_entries()]

    def catalog_entries(self) -> tuple[MetricEntry, ...]:
        """Return the entries of all metrics, which are secret because evaluation data determine them."""
        return (
            build_secret_score_entry(
                "contains_keywords",
                MetricType.CONTAINS,
                "required_keywords",
                "Share of required terms in the text.",
                at=self.text_pointer,
            ),
            _flag(
                "matches_pattern",
                "pattern",
                self.text_pointer,
                "True if the text has a match of the pattern.",
                MetricType.BOOLEAN,
            ),
            _flag(
                "matches_schema",
                "output_schema",
                self.part_pointer,
                "True if the output conforms to the JSON Schema.",
                *(MetricType.MATCHES_SCHEMA, MetricType.BOOLEAN),
            ),
            build_secret_score_entry(
                "has_required_fields",
                MetricType.BOOLEAN,
                "required_fields",
                "Share of required fields in the output, as a boolean true if all are; null counts as present.",
                at=self.part_pointer,
            ),
        )

    def check_evaluation(self, evaluation: Mapping[str, Any]) -> Iterable[Problem]:
        """Yield the problems of a pattern that RE2 refuses or that is too complex, and of an invalid schema."""
        pattern, schema = evaluation.get("pattern"), evaluation.get("output_schema")
        if isinstance(pattern, str):
            try:
                check_pattern(pattern)
            except InvalidPattern as error:
                yield Problem(path="/pattern", code="invalid_pattern", message=str(error))
        if isinstance(schema, Mapping):
            try:
                compile_schema(serialize_schema(schema))
            except InvalidSchema as error:
                yield Problem(path=f"/output_schema{error.path}", code=error.code, message=str(error))


def _flag(name: str, needs: str, at: str, description: str, *types: MetricType) -> MetricEntry:
    return MetricEntry(
        name=name,
        description=description,
        unit="boolean",
        direction=Direction.HIGHER,
        metric_types=types,
        needs=(needs,),
        secret=True,
        at=at,
        named=True,
    )


def _has_field(output: Any, required: str) -> bool:
    if required.startswith("/"):
        return resolve_pointer(output, required) is not MISSING
    return isinstance(output, Mapping) and required in output

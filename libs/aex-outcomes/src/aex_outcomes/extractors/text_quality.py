"""BLEU, ROUGE and lengths of the text of an output."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from aex_models.catalog import MetricEntry
from aex_models.thresholds import MetricType
from aex_models.work import Problem
from aex_outcomes.extractors.entries import secret_score
from aex_outcomes.extractors.protocol import AgentFault, MetricValue
from aex_outcomes.extractors.recent import Recent
from aex_outcomes.extractors.text import MAX_TEXT_LENGTH, TEXT_POINTER, checked_pointer, references_of, text_of
from aex_outcomes.kernels.bleu import BleuReference, bleu
from aex_outcomes.kernels.rouge import (
    MAX_REFERENCE_TOKENS,
    RougeReference,
    TooManySteps,
    is_rouge_type,
    rouge,
    tokenize,
)

ROUGE_TYPES = ("rouge1", "rouge2", "rougeL")
_LENGTHS = {"output_length": "characters", "word_count": "words"}
_PREPARED = 16


@dataclass(frozen=True, slots=True)
class TextQualityExtractor:
    """Metrics of the text at `text_pointer`; without a text there are none. An empty text has all of them.

    `output_length` counts Unicode code points, `word_count` the parts between white space.
    A text that is too long for ROUGE-L against the references is the agent's error; the other metrics are there.
    """

    rouge_types: Sequence[str] = ROUGE_TYPES
    text_pointer: str = TEXT_POINTER
    max_text_length: int = MAX_TEXT_LENGTH
    wanted: frozenset[str] | None = None
    """None: all of them."""
    _rouge: Recent[tuple[object, ...], list[RougeReference]] = field(default_factory=lambda: Recent(_PREPARED))
    _bleu: Recent[tuple[str, ...], BleuReference] = field(default_factory=lambda: Recent(_PREPARED))
    version = "2"

    def __post_init__(self) -> None:
        checked_pointer(self.text_pointer)
        unknown = [each for each in self.rouge_types if not is_rouge_type(each)]
        if unknown or isinstance(self.rouge_types, str):
            raise ValueError(f"rouge_types: expected a list of rouge1 to rouge9 and rougeL, not {self.rouge_types!r}")

    def only(self, metrics: frozenset[str]) -> "TextQualityExtractor":
        """The same extractor (and the same prepared references) for fewer metrics."""
        return replace(self, wanted=metrics)

    async def extract(
        self,
        task_input: Mapping[str, Any],
        task_output: Any,
        metadata: Mapping[str, Any],  # noqa: ARG002 part of the protocol
    ) -> dict[str, MetricValue]:
        """Lengths of the text, and its likeness to the reference where there is one."""
        text = text_of(task_output, self.text_pointer, self.max_text_length)
        if text is None:
            return {}
        metrics: dict[str, MetricValue] = {"output_length": len(text), "word_count": len(text.split())}
        references = references_of(task_input)
        if references:
            metrics |= self._rouge_or_faults(text, references)
            if self._wanted(["bleu_score"]):
                metrics["bleu_score"] = self.bleu(text, references)
        return metrics

    def _rouge_or_faults(self, text: str, references: tuple[str, ...]) -> dict[str, MetricValue]:
        wanted = self._wanted(self.rouge_types)
        try:
            return {**self.rouge(text, references, wanted)}
        except TooManySteps as error:
            others = [each for each in wanted if each != "rougeL"]
            return {**self.rouge(text, references, others), "rougeL": AgentFault("text_too_long", str(error))}

    def bleu(self, text: str, references: tuple[str, ...]) -> float:
        """The BLEU score against references that are kept prepared."""
        return bleu(text, self._bleu.get(references, lambda: BleuReference.of(references)))

    def rouge(
        self, text: str, references: tuple[str, ...], types: Sequence[str], *, cut: bool = False
    ) -> dict[str, float]:
        """The ROUGE f-measures of these types, against references that are kept prepared.

        Raises `TooManySteps` for a text too long for rougeL, unless it may be `cut`.
        """
        if not types:
            return {}
        prepared = self._rouge.get(
            (references, *types), lambda: [RougeReference.of(reference, types) for reference in references]
        )
        return rouge(text, prepared, types, cut=cut)

    def _wanted(self, names: Sequence[str]) -> list[str]:
        return [name for name in names if self.wanted is None or name in self.wanted]

    def supported_metrics(self) -> list[str]:
        """BLEU, the configured ROUGE types, and two lengths."""
        return ["bleu_score", *self.rouge_types, *_LENGTHS]

    def catalog_entries(self) -> tuple[MetricEntry, ...]:
        """Likeness to the reference is secret; lengths are not."""
        return (
            secret_score("bleu_score", MetricType.BLEU_SCORE, "reference"),
            *(secret_score(each, MetricType.ROUGE_SCORE, "reference") for each in self.rouge_types),
            *(_length(name, unit) for name, unit in _LENGTHS.items()),
        )

    def check_evaluation(self, evaluation: Mapping[str, Any]) -> Iterable[Problem]:
        """References are measured whole, so their size has a limit."""
        references = references_of(evaluation)
        if sum(map(len, references)) > self.max_text_length:
            message = f"References may have {self.max_text_length} characters in all"
            yield Problem(path="/reference", code="reference_too_long", message=message)
        elif sum(len(tokenize(each)) for each in references) > MAX_REFERENCE_TOKENS:
            message = f"References may have {MAX_REFERENCE_TOKENS} words of a–z and 0–9 in all"
            yield Problem(path="/reference", code="reference_too_long", message=message)


def _length(name: str, unit: str) -> MetricEntry:
    return MetricEntry(name=name, unit=unit, range=(0, None), metric_types=(MetricType.COUNT, MetricType.NUMERIC))

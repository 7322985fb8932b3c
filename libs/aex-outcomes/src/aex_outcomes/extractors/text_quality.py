"""Extractor of BLEU, ROUGE and the lengths of an output's text."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from aex_models.canonical import is_json_pointer
from aex_models.catalog import MetricEntry
from aex_models.thresholds import MetricType
from aex_models.work import Problem
from aex_outcomes.extractors.catalog_entries import build_count_entry, build_secret_score_entry
from aex_outcomes.extractors.protocol import AgentFault, Metrics
from aex_outcomes.json_values import resolve_pointer
from aex_outcomes.kernels.bleu import BleuReference, bleu
from aex_outcomes.kernels.rouge import (
    MAX_REFERENCE_TOKENS,
    RougeReference,
    TooManySteps,
    is_rouge_type,
    rouge,
    tokenize_for_rouge,
)

TEXT_POINTER = "/text"
MAX_TEXT_LENGTH = 1_000_000
"""Maximum code points of a text, and of all references together."""
MAX_NORMALIZED_GROWTH = 2
"""Maximum length of a normalised text, as a multiple of the text's own maximum: NFKC may lengthen it 18 times."""


def require_json_pointer(pointer: str) -> None:
    """Raise `ValueError` if the text is no JSON pointer."""
    if not is_json_pointer(pointer):
        raise ValueError(f"not a JSON pointer: {pointer!r}")


def read_text(output: Any, pointer: str, allowed_length: int) -> str | None:
    """Return the text at the JSON pointer of an output; None if there is no text.

    Raises `AgentFault` for a text longer than `allowed_length` code points or with lone surrogates.
    """
    text = resolve_pointer(output, pointer)
    if not isinstance(text, str):
        return None
    if len(text) > allowed_length:
        raise AgentFault("text_too_long", f"the text has more than {allowed_length} characters")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise AgentFault("not_unicode", "the text holds lone surrogates") from None
    return text


def read_references(task_input: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the reference texts in a work's input and evaluation data; empty if there are none."""
    reference = task_input.get("reference")
    if isinstance(reference, str):
        return (reference,)
    if isinstance(reference, list | tuple) and all(isinstance(each, str) for each in reference):
        return tuple(reference)
    return ()


ROUGE_TYPES = ("rouge1", "rouge2", "rougeL")
_LENGTHS = (
    ("output_length", "characters", "Number of Unicode code points of the text."),
    ("word_count", "words", "Number of parts between white space of the text."),
)
_PREPARED = 16


@dataclass(frozen=True, slots=True)
class TextQualityExtractor:
    """Extractor of metrics of the text at `text_pointer` of the output.

    An output without a text has no such metrics; an empty text has all of them. `output_length` counts code points,
    `word_count` the parts between white space. A text too long for ROUGE-L gives a fault for that metric alone.
    """

    rouge_types: Sequence[str] = ROUGE_TYPES
    """Metrics of ROUGE to offer, of rouge1 to rouge9 and rougeL."""
    text_pointer: str = TEXT_POINTER
    """JSON pointer to the text in the output."""
    max_text_length: int = MAX_TEXT_LENGTH
    """Code points of a text, and of all references together; a longer text is the agent's fault."""
    selected_metrics: frozenset[str] | None = None
    """Metrics to compute; None for all. Lengths are always computed."""
    _prepare_rouge: Callable[..., list[RougeReference]] = field(
        default_factory=lambda: lru_cache(_PREPARED)(
            lambda references, types: [RougeReference.from_text(each, types) for each in references]
        )
    )
    _prepare_bleu: Callable[..., BleuReference] = field(
        default_factory=lambda: lru_cache(_PREPARED)(BleuReference.from_texts)
    )
    version = "3"

    def __post_init__(self) -> None:
        require_json_pointer(self.text_pointer)
        unknown = [each for each in self.rouge_types if not is_rouge_type(each)]
        if unknown or isinstance(self.rouge_types, str):
            raise ValueError(f"rouge_types: expected a list of rouge1 to rouge9 and rougeL, not {self.rouge_types!r}")

    def for_metrics(self, metrics: frozenset[str]) -> "TextQualityExtractor":
        """Return an extractor of these metrics alone, which shares this one's prepared references."""
        return replace(self, selected_metrics=metrics)

    def at_pointer(self, pointer: str) -> "TextQualityExtractor":
        """Return an extractor that measures the text at this JSON pointer."""
        return replace(self, text_pointer=pointer)

    async def extract(self, task_input: Mapping[str, Any], task_output: Any, metadata: Mapping[str, Any]) -> Metrics:
        """Return the lengths of the text, and its selected similarities to the references if there are any."""
        text = read_text(task_output, self.text_pointer, self.max_text_length)
        if text is None:
            return {}
        metrics: Metrics = {"output_length": len(text), "word_count": len(text.split())}
        references = read_references(task_input)
        if not references:
            return metrics
        types = self._select(self.rouge_types)
        try:
            metrics |= self.rouge(text, references, types)
        except TooManySteps as error:
            metrics |= self.rouge(text, references, [each for each in types if each != "rougeL"])
            metrics["rougeL"] = AgentFault("text_too_long", str(error))
        if self._select(["bleu_score"]):
            metrics["bleu_score"] = self.bleu(text, references)
        return metrics

    def bleu(self, text: str, references: tuple[str, ...]) -> float:
        """Return the text's BLEU score, from 0 to 1; prepared references are cached."""
        return bleu(text, self._prepare_bleu(references))

    def rouge(
        self, text: str, references: tuple[str, ...], types: Sequence[str], *, truncate: bool = False
    ) -> dict[str, float]:
        """Return the text's ROUGE f-measures by type, from 0 to 1; prepared references are cached.

        Raises `TooManySteps` for a text too long for `rougeL`; with `truncate` its beginning is measured instead.
        """
        return rouge(text, self._prepare_rouge(references, tuple(types)), types, truncate=truncate) if types else {}

    def _select(self, names: Sequence[str]) -> list[str]:
        return [name for name in names if self.selected_metrics is None or name in self.selected_metrics]

    def supported_metrics(self) -> list[str]:
        return ["bleu_score", *self.rouge_types, *(name for name, *_ in _LENGTHS)]

    def catalog_entries(self) -> tuple[MetricEntry, ...]:
        """Return the entries of all metrics; similarities to the reference are secret, lengths are not."""
        return (
            build_secret_score_entry(
                "bleu_score",
                MetricType.BLEU_SCORE,
                "reference",
                "BLEU of the text against the references.",
                self.text_pointer,
            ),
            *(
                build_secret_score_entry(
                    each, MetricType.ROUGE_SCORE, "reference", _describe_rouge(each), self.text_pointer
                )
                for each in self.rouge_types
            ),
            *(build_count_entry(*each, at=self.text_pointer) for each in _LENGTHS),
        )

    def check_evaluation(self, evaluation: Mapping[str, Any]) -> Iterable[Problem]:
        """Yield a problem if the references have too many characters or words in total."""
        references = read_references(evaluation)
        if sum(map(len, references)) > self.max_text_length:
            message = f"References may have {self.max_text_length} characters in all"
            yield Problem(path="/reference", code="reference_too_long", message=message)
        elif sum(len(tokenize_for_rouge(each)) for each in references) > MAX_REFERENCE_TOKENS:
            message = f"References may have {MAX_REFERENCE_TOKENS} words of a–z and 0–9 in all"
            yield Problem(path="/reference", code="reference_too_long", message=message)


def _describe_rouge(kind: str) -> str:
    shared = "the longest common subsequence" if kind == "rougeL" else f"common sequences of {kind[-1]} words"
    return f"F-measure of {shared if kind != 'rouge1' else 'common words'}, with the best reference."

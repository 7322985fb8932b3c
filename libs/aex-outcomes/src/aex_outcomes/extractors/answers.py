"""Extractor of metrics of answers: texts against references, numbers, and choices among options."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

from aex_models.catalog import Direction, MetricEntry
from aex_models.numbers import is_finite_number
from aex_models.thresholds import MetricType
from aex_models.work import Problem
from aex_outcomes.extractors.catalog_entries import build_secret_score_entry
from aex_outcomes.extractors.protocol import AgentFault, Metrics
from aex_outcomes.extractors.text_quality import (
    MAX_TEXT_LENGTH,
    TEXT_POINTER,
    read_references,
    read_text,
    require_json_pointer,
)
from aex_outcomes.json_values import MISSING, resolve_pointer
from aex_outcomes.kernels.answers import answer_f1, equals_any_answer, fuzzy_ratio, levenshtein_similarity
from aex_outcomes.kernels.choices import ChoiceQuestion, normalize_option
from aex_outcomes.kernels.chrf import ChrfReferences, chrf
from aex_outcomes.kernels.numeric_answers import (
    find_last_number,
    has_unit_or_nothing_behind,
    is_within_tolerance,
    to_decimal,
)
from aex_outcomes.kernels.rouge import TooManySteps

_SHARES = {
    "answer_f1": "F1 score of the words that the text shares with the best reference, as in SQuAD 2.0.",
    "edit_similarity": "1 minus the edits to the best reference, divided by the longer length.",
    "fuzzy_ratio": "Twice the characters shared in order with the best reference, divided by the sum of both lengths.",
    "chrf": "chrF of the text and the best reference: F-score of sequences of 1 to 6 characters.",
}
_OWN_TYPES = {"answer_f1": MetricType.F1_SCORE}
_FLAGS = {
    "exact_match": (
        "reference",
        "True if the text equals a reference but for case, punctuation, articles and blanks.",
    ),
    "numeric_match": ("numeric", "True if the number, or the last one of the text, is the expected one."),
    "choice_match": ("choice", "True if the labels that the text gives are the correct ones."),
}
_PREPARED = 16


@dataclass(frozen=True, slots=True)
class AnswersExtractor:
    """Extractor of metrics of the answer at `text_pointer` of the output.

    Without an answer there is no metric; an answer that is no text is the agent's fault, but `numeric_match` takes a
    number too. `evaluation.numeric` and `evaluation.choice` may have a location of their own. A text too long for
    `edit_similarity` or `fuzzy_ratio` gives a fault for these metrics alone.
    """

    text_pointer: str = TEXT_POINTER
    """JSON pointer to the answer in the output."""
    max_text_length: int = MAX_TEXT_LENGTH
    """Code points of a text; a longer one is the agent's fault."""
    selected_metrics: frozenset[str] | None = None
    """Metrics to compute; None for all that have evaluation data."""
    _is_located_by_name: bool = False
    """True if the pointer is that of named data, which replaces the location of `numeric` and `choice`."""
    _prepare_chrf: Callable[..., ChrfReferences] = field(
        default_factory=lambda: lru_cache(_PREPARED)(ChrfReferences.from_texts)
    )
    version = "1"

    def __post_init__(self) -> None:
        require_json_pointer(self.text_pointer)

    def for_metrics(self, metrics: frozenset[str]) -> "AnswersExtractor":
        """Return an extractor of these metrics alone, which shares this one's prepared references."""
        return replace(self, selected_metrics=metrics)

    def at_pointer(self, pointer: str) -> "AnswersExtractor":
        """Return an extractor that measures the answer at this JSON pointer, whatever the data's own location."""
        return replace(self, text_pointer=pointer, _is_located_by_name=True)

    async def extract(self, task_input: Mapping[str, Any], task_output: Any, metadata: Mapping[str, Any]) -> Metrics:
        """Return the selected metrics whose evaluation data are present in `task_input`."""
        metrics: Metrics = {}
        for name, measure in self._measures(task_input, task_output):
            if self.selected_metrics is not None and name not in self.selected_metrics:
                continue
            try:
                value = measure()
            except AgentFault as fault:
                metrics[name] = fault
            except TooManySteps as error:
                metrics[name] = AgentFault("text_too_long", str(error))
            else:
                metrics |= {} if value is None else {name: value}
        return metrics

    def _measures(
        self, task_input: Mapping[str, Any], output: Any
    ) -> Iterator[tuple[str, Callable[[], bool | float | None]]]:
        """Yield each metric that has evaluation data, with the function that returns its value."""
        references = read_references(task_input)
        kernels: Mapping[str, Callable[[str, tuple[str, ...]], bool | float]] = {
            "exact_match": equals_any_answer,
            "answer_f1": answer_f1,
            "edit_similarity": levenshtein_similarity,
            "fuzzy_ratio": fuzzy_ratio,
            "chrf": lambda text, references: chrf(text, self._prepare_chrf(references)),
        }
        for name, kernel in kernels.items() if references else ():
            yield name, lambda kernel=kernel: self._compare_text(output, references, kernel)  # type: ignore[misc]
        numeric, choice = task_input.get("numeric"), task_input.get("choice")
        if isinstance(numeric, Mapping):
            yield "numeric_match", lambda: self._match_number(output, numeric)
        if isinstance(choice, Mapping):
            yield "choice_match", lambda: self._match_choice(output, choice)

    def _compare_text(
        self, output: Any, references: tuple[str, ...], kernel: Callable[[str, tuple[str, ...]], bool | float]
    ) -> bool | float | None:
        text = self._read_text(output, self.text_pointer)
        return None if text is None else kernel(text, references)

    def _match_number(self, output: Any, data: Mapping[str, Any]) -> bool | None:
        pointer, units = self._locate(data), data.get("units")
        found = resolve_pointer(output, pointer)
        if is_finite_number(found):
            value, is_in_unit = to_decimal(found), True
        elif (text := self._read_text(output, pointer, "a number or a text")) is None:
            return None
        elif (number := find_last_number(text, may_have_unit=units is not None)) is None:
            return False
        else:
            value, is_in_unit = number.value, units is None or has_unit_or_nothing_behind(text, number.end, units)
        tolerances = data.get("abs_tol") or 0, data.get("rel_tol") or 0
        return is_in_unit and is_within_tolerance(value, data["value"], *tolerances)

    def _match_choice(self, output: Any, data: Mapping[str, Any]) -> bool | None:
        text = self._read_text(output, self._locate(data))
        return None if text is None else ChoiceQuestion.from_data(data["correct"], data.get("options")).is_correct(text)

    def _locate(self, data: Mapping[str, Any]) -> str:
        own = None if self._is_located_by_name else data.get("at")
        return self.text_pointer if own is None else own

    def _read_text(self, output: Any, pointer: str, expected: str = "a text") -> str | None:
        """Return the text at the pointer; None if nothing is there. Raises `AgentFault` for anything else."""
        found = resolve_pointer(output, pointer)
        if found is MISSING:
            return None
        if not isinstance(found, str):
            raise AgentFault("wrong_kind", f"expected {expected} as the answer")  # its location may be secret
        return read_text(found, "", self.max_text_length)

    def supported_metrics(self) -> list[str]:
        return [*_FLAGS, *_SHARES]

    def catalog_entries(self) -> tuple[MetricEntry, ...]:
        """Return the entries of all metrics, which are secret because evaluation data determine them."""
        return (
            *(
                build_secret_score_entry(name, _OWN_TYPES.get(name), "reference", text, self.text_pointer)
                for name, text in _SHARES.items()
            ),
            *(self._flag(name, *each) for name, each in _FLAGS.items()),
        )

    def _flag(self, name: str, needs: str, description: str) -> MetricEntry:
        return MetricEntry(
            name=name,
            description=description,
            unit="boolean",
            direction=Direction.HIGHER,
            metric_types=(MetricType.BOOLEAN,),
            needs=(needs,),
            secret=True,
            at=self.text_pointer,
            named=True,
        )

    def check_evaluation(self, evaluation: Mapping[str, Any]) -> Iterable[Problem]:
        """Yield the problems of blank units and labels, and of options or labels that are equal."""
        numeric, choice = evaluation.get("numeric"), evaluation.get("choice")
        if isinstance(numeric, Mapping):
            yield from _blank_problems(numeric.get("units"), "/numeric/units", "unit")
        if isinstance(choice, Mapping):
            yield from _choice_problems(choice)


def _choice_problems(choice: Mapping[str, Any]) -> Iterator[Problem]:
    correct, options = choice.get("correct"), choice.get("options")
    listed = correct if isinstance(correct, list | tuple) else [correct]
    yield from _blank_problems(listed, "/choice/correct", "label")
    if not isinstance(options, Mapping):
        return
    yield from _blank_problems(options, "/choice/options", "label")
    labels = [each.casefold() for each in options]
    if not {each.casefold() for each in listed if isinstance(each, str)}.issubset(labels):
        message = "Each correct label must be a key of options"
        yield Problem(path="/choice/correct", code="unknown_label", message=message)
    if len(set(labels)) < len(labels):
        message = "Labels of options must differ by more than case"
        yield Problem(path="/choice/options", code="duplicate_id", message=message)
    texts = [normalize_option(each) for each in options.values() if isinstance(each, str)]
    if len(set(texts)) < len(texts):
        message = "Texts of options must differ by more than case, articles and marks around them"
        yield Problem(path="/choice/options", code="duplicate_option", message=message)


def _blank_problems(texts: Any, path: str, subject: str) -> Iterator[Problem]:
    listed = texts if isinstance(texts, list | tuple | Mapping) else ()
    if any(isinstance(each, str) and not each.strip() for each in listed):
        yield Problem(path=path, code=f"blank_{subject}", message=f"A {subject} must not be blank")

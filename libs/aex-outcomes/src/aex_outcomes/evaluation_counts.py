"""Sizes of a work's evaluation data, on which the possible values of metrics depend."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aex_models.criteria import SuccessCriterion
from aex_outcomes.extractors.text_quality import read_references
from aex_outcomes.kernels.keywords import normalize_distinct_terms
from aex_outcomes.kernels.rouge import is_rouge_type, tokenize_for_rouge
from aex_outcomes.testing.discovery import find_tests

BY_LABELS = frozenset({"accuracy", "recall", "micro_f1"})
BY_TERMS = "contains_keywords"
BY_FIELDS = "has_required_fields"
BY_TESTS = frozenset({"tests_pass_rate", "tests_passed", "tests_failed", "tests_all_passed"})


@dataclass(frozen=True, slots=True)
class EvaluationCounts:
    """Sizes of a work's evaluation data; 0 and False where no criterion uses them."""

    labels: int = 0
    """Number of true labels: accuracy is a multiple of 1/labels."""
    terms: int = 0
    """Number of different required terms: their share is a multiple of 1/terms."""
    fields: int = 0
    """Number of different required fields: their share is a multiple of 1/fields."""
    tests: int = 0
    """Number of hidden tests, of which the metrics of hidden tests count the passed ones."""
    wordless: bool = False
    """True if the work has references, and none has a word that ROUGE counts."""


NO_EVALUATION = EvaluationCounts()


def count_evaluation_items(criteria: Sequence[SuccessCriterion], evaluation: Mapping[str, Any]) -> EvaluationCounts:
    """Count the labels, terms, fields and hidden tests of the evaluation data that the criteria use."""
    if not evaluation:
        return NO_EVALUATION
    metrics = {each.metric for each in criteria}
    references = read_references(evaluation) if any(map(is_rouge_type, metrics)) else ()
    return EvaluationCounts(
        labels=len(evaluation.get("ground_truth") or ()) if metrics & BY_LABELS else 0,
        tests=len(find_tests(evaluation["tests"])) if metrics & BY_TESTS and _has_tests(evaluation) else 0,
        terms=len(normalize_distinct_terms(evaluation.get("required_keywords") or ())) if BY_TERMS in metrics else 0,
        fields=len(set(evaluation.get("required_fields") or ())) if BY_FIELDS in metrics else 0,
        wordless=bool(references) and not any(map(tokenize_for_rouge, references)),
    )


def _has_tests(evaluation: Mapping[str, Any]) -> bool:
    return isinstance(evaluation.get("tests"), Mapping) and "style" in evaluation["tests"]


def list_test_values(total: int) -> list[Mapping[str, bool | float]]:
    """Return the values of the metrics of hidden tests, for each number of passed tests up to `total`."""
    return [
        {
            "tests_pass_rate": passed / total,
            "tests_passed": passed,
            "tests_failed": total - passed,
            "tests_all_passed": passed == total,
        }
        for passed in range(total + 1)
    ]

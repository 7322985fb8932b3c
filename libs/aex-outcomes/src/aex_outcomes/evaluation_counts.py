"""Sizes of a work's evaluation data, on which the possible values of metrics depend."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aex_models.catalog import MetricEntry
from aex_models.criteria import SuccessCriterion
from aex_models.grader_data import ExpectedRanking
from aex_outcomes.extractors.text_quality import read_references
from aex_outcomes.kernels.keywords import normalize_distinct_terms
from aex_outcomes.kernels.rouge import is_rouge_type, tokenize_for_rouge
from aex_outcomes.testing.discovery import find_tests

BY_LABELS = frozenset({"accuracy", "recall", "micro_f1"})
BY_TERMS = "contains_keywords"
BY_FIELDS = "has_required_fields"
PRECISION_AT_K, RECALL_AT_K = "precision_at_k", "recall_at_k"
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
    relevant: int = 0
    """Number of relevant items of the expected ranking: recall_at_k is a multiple of 1/relevant."""
    top_items: int = 0
    """The expected ranking's `k`: precision_at_k is a multiple of 1/k."""
    has_only_wordless_references: bool = False
    """True if the work has references, and none has a word that ROUGE counts."""

    def denominator(self, metric: str) -> int | None:
        """Return n if the metric is always a multiple of 1/n; None if no such n is known."""
        numbers = {
            **dict.fromkeys(BY_LABELS, self.labels),
            BY_TERMS: self.terms,
            BY_FIELDS: self.fields,
            PRECISION_AT_K: self.top_items,
            RECALL_AT_K: self.relevant,
        }
        return numbers.get(metric) or None

    def narrow_range(self, entry: MetricEntry) -> MetricEntry:
        """Return the entry, of `precision_at_k` and `recall_at_k` with the values that the ranking allows."""
        divisor = self.denominator(entry.name) if entry.name in {PRECISION_AT_K, RECALL_AT_K} else None
        if not divisor:
            return entry
        return entry.model_copy(update={"range": (0, min(self.relevant, self.top_items) / divisor)})


NO_EVALUATION = EvaluationCounts()


def count_evaluation_items(criteria: Sequence[SuccessCriterion], evaluation: Mapping[str, Any]) -> EvaluationCounts:
    """Count the parts of the evaluation data that the criteria use, such as labels and terms."""
    if not evaluation:
        return NO_EVALUATION
    metrics = {each.metric for each in criteria}
    references = read_references(evaluation) if any(map(is_rouge_type, metrics)) else ()
    judged = evaluation.get("ranking") if metrics & {PRECISION_AT_K, RECALL_AT_K} else None
    ranking = ExpectedRanking.model_validate(judged) if judged else None
    return EvaluationCounts(
        labels=len(evaluation.get("ground_truth") or ()) if metrics & BY_LABELS else 0,
        tests=len(find_tests(evaluation["tests"])) if metrics & BY_TESTS and _has_tests(evaluation) else 0,
        terms=len(normalize_distinct_terms(evaluation.get("required_keywords") or ())) if BY_TERMS in metrics else 0,
        fields=len(set(evaluation.get("required_fields") or ())) if BY_FIELDS in metrics else 0,
        relevant=sum(grade > 0 for grade in ranking.relevance.values()) if ranking else 0,
        top_items=ranking.k if ranking else 0,
        has_only_wordless_references=bool(references) and not any(map(tokenize_for_rouge, references)),
    )


def _has_tests(evaluation: Mapping[str, Any]) -> bool:
    return isinstance(evaluation.get("tests"), Mapping) and "style" in evaluation["tests"]


def list_test_metric_values(total: int) -> list[Mapping[str, bool | float]]:
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

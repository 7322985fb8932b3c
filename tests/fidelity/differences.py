"""Largest difference of each metric from its reference library."""

import math
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import sacrebleu
from rouge_score.rouge_scorer import RougeScorer
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    f1_score,
    matthews_corrcoef,
    precision_recall_fscore_support,
)

from aex_outcomes.extractors.classification import ClassificationExtractor
from aex_outcomes.extractors.protocol import MetricExtractor
from aex_outcomes.extractors.text_quality import TextQualityExtractor
from tests.fidelity.cases import Label, LabelCase, TextCase

TEXT_BAR = 1e-9
LABEL_BAR = 1e-12
LABEL_SCORES = (
    *("accuracy", "precision", "recall", "f1_score"),
    *("macro_f1", "micro_f1", "balanced_accuracy", "mcc"),
)
ROUGE_TYPES = ("rouge1", "rouge2", "rougeL")


@dataclass(slots=True)
class FidelityRow:
    """A metric, its number of pairs and its largest difference."""

    metric: str
    reference: str
    bar: float
    pairs: int = 0
    largest: float = 0.0

    def count(self, own: Any, reference: float) -> None:
        """Add a pair; a value that is no finite number has an infinite difference.

        Differences are absolute, and relative to references above 1.
        """
        difference = abs(own - reference) / max(1.0, abs(reference)) if isinstance(own, int | float) else math.inf
        self.pairs += 1
        self.largest = max(self.largest, difference if math.isfinite(difference) else math.inf)

    @property
    def is_met(self) -> bool:
        return self.pairs > 0 and self.largest <= self.bar


async def text_rows(cases: Iterable[TextCase], extractor: MetricExtractor | None = None) -> list[FidelityRow]:
    """Compare ROUGE with rouge-score and BLEU with sacrebleu."""
    extractor = extractor or TextQualityExtractor()
    scorer = RougeScorer(list(ROUGE_TYPES))
    rows = {name: FidelityRow(name, "rouge-score", TEXT_BAR) for name in ROUGE_TYPES}
    rows["bleu_score"] = FidelityRow("bleu_score", "sacrebleu", TEXT_BAR)
    for case in cases:
        own = await extractor.extract({"reference": list(case.references)}, {"text": case.candidate}, {})
        rouge = scorer.score_multi(list(case.references), case.candidate)
        for name in ROUGE_TYPES:
            rows[name].count(own[name], rouge[name].fmeasure)
        bleu = sacrebleu.corpus_bleu([case.candidate], [[each] for each in case.references])
        rows["bleu_score"].count(own["bleu_score"], bleu.score / 100)
    return list(rows.values())


async def label_rows(cases: Iterable[LabelCase], extractor: MetricExtractor | None = None) -> list[FidelityRow]:
    """Compare the scores of labels with scikit-learn, with zero_division 0."""
    extractor = extractor or ClassificationExtractor()
    rows = {name: FidelityRow(name, "scikit-learn", LABEL_BAR) for name in LABEL_SCORES}
    for case in cases:
        own = await extractor.extract({"ground_truth": case.ground_truth}, {"predictions": case.predictions}, {})
        for name, reference in _scikit_learn(case).items():
            rows[name].count(own.get(name), reference)
    return list(rows.values())


def _scikit_learn(case: LabelCase) -> Mapping[str, float]:
    true, predicted = _encode(case.true, case.predicted)
    precision, recall, f1, _ = precision_recall_fscore_support(true, predicted, average="weighted", zero_division=0)
    with warnings.catch_warnings(action="ignore"):  # of labels that are only predicted, and of single ones
        scores = (
            *(accuracy_score(true, predicted), precision, recall, f1),
            *(f1_score(true, predicted, average=average, zero_division=0) for average in ("macro", "micro")),
            *(balanced_accuracy_score(true, predicted), matthews_corrcoef(true, predicted)),
        )
    return dict(zip(LABEL_SCORES, scores, strict=True))


def _encode(true: list[Label], predicted: list[Label]) -> tuple[list[int], list[int]]:
    """Return a number for each label: scikit-learn takes one type at a time, and treats True as 1."""
    codes: dict[tuple[type[Label], Label], int] = {}
    first, second = ([codes.setdefault((type(each), each), len(codes)) for each in side] for side in (true, predicted))
    return first, second


def format_table(rows: Iterable[FidelityRow]) -> str:
    """Return a head and a line per metric."""
    lines = [f"{'metric':18}{'reference':14}{'pairs':>7}  {'largest difference':>18}  {'bar':>6}  met"]
    lines += [
        f"{row.metric:18}{row.reference:14}{row.pairs:7d}  {row.largest:18.2e}  {row.bar:6.0e}  "
        f"{'yes' if row.is_met else 'NO'}"
        for row in rows
    ]
    return "\n".join(lines)

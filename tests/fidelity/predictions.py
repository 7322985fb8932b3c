"""Largest differences of the metrics of numbers and probabilities from scikit-learn and scipy."""

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from scipy.stats import spearmanr
from sklearn.metrics import (
    brier_score_loss,
    log_loss,
    mean_absolute_error,
    mean_absolute_percentage_error,
    r2_score,
    roc_auc_score,
    root_mean_squared_error,
)

from aex_outcomes.extractors.probabilities import ProbabilityExtractor
from aex_outcomes.extractors.protocol import AgentFault
from aex_outcomes.extractors.regression import RegressionExtractor
from tests.fidelity.differences import FidelityRow
from tests.fidelity.prediction_cases import NumberCase, ProbabilityCase

BAR = 1e-9
_OF_NUMBERS: Mapping[str, tuple[str, Callable[[list[float], list[float]], float]]] = {
    "mae": ("scikit-learn", mean_absolute_error),
    "rmse": ("scikit-learn", root_mean_squared_error),
    "mape": ("scikit-learn", mean_absolute_percentage_error),
    "r2": ("scikit-learn", r2_score),
    "spearman": ("scipy", lambda true, predicted: spearmanr(true, predicted).statistic),
}
_OF_PROBABILITIES = ("roc_auc", "log_loss", "brier")


async def number_rows(
    cases: Iterator[NumberCase], pairs: int, extractor: RegressionExtractor | None = None
) -> list[FidelityRow]:
    """Compare the metrics of regression over so many pairs each, among endless cases.

    Cases that a work with the metric could not have are left out: targets of 0 for mape, and equal ones for spearman.
    """
    extractor = extractor or RegressionExtractor()
    rows = {name: FidelityRow(name, library, BAR) for name, (library, _) in _OF_NUMBERS.items()}
    while open_rows := [row for row in rows.values() if row.pairs < pairs]:
        case = next(cases)
        for row in open_rows:
            if row.metric in _impossible(case):
                continue
            inputs = {"targets": case.targets}, {"predictions": case.predictions}
            own = await extractor.for_metrics(frozenset({row.metric})).extract(*inputs, {})
            _count(row, own[row.metric], _reference(row.metric, case))
    return list(rows.values())


def _impossible(case: NumberCase) -> set[str]:
    return {*(["mape"] if 0 in case.true else []), *(["spearman"] if len(set(case.true)) == 1 else [])}


def _reference(metric: str, case: NumberCase) -> float:
    if metric == "r2" and len(case.true) == 1:  # scikit-learn has no score; a single target is constant
        return float(case.true == case.predicted)
    with warnings.catch_warnings(action="ignore"):
        return float(_OF_NUMBERS[metric][1](case.true, case.predicted))


def _count(row: FidelityRow, own: Any, reference: float) -> None:
    """Add a pair; where the library has no score, the only equal value is the fault `undefined`."""
    if math.isnan(reference):
        row.count(0 if isinstance(own, AgentFault) and own.code == "undefined" else math.inf, 0)
    else:
        row.count(own, reference)


async def probability_rows(
    cases: Iterable[ProbabilityCase], extractor: ProbabilityExtractor | None = None
) -> list[FidelityRow]:
    """Compare the metrics of probabilities with scikit-learn."""
    extractor = extractor or ProbabilityExtractor()
    rows = {name: FidelityRow(name, "scikit-learn", BAR) for name in _OF_PROBABILITIES}
    for case in cases:
        own = await extractor.extract({"ground_truth": case.ground_truth}, {"predictions": case.predictions}, {})
        with warnings.catch_warnings(action="ignore"):
            for name, reference in _scikit_learn(case).items():
                rows[name].count(own[name], reference)
    return list(rows.values())


def _scikit_learn(case: ProbabilityCase) -> Mapping[str, float]:
    is_binary = len(set(case.true)) == 2
    return {
        "roc_auc": _roc_auc(case),
        "log_loss": log_loss(case.true, case.matrix, labels=case.labels),
        "brier": brier_score_loss(case.true, case.matrix, labels=case.labels, scale_by_half=is_binary),
    }


def _roc_auc(case: ProbabilityCase) -> float:
    columns = dict(zip(case.labels, zip(*case.matrix, strict=True), strict=True))
    true_labels = sorted(set(case.true))
    if len(true_labels) == 2:
        return float(roc_auc_score(case.true, columns[true_labels[1]]))
    if true_labels == case.labels:
        return float(roc_auc_score(case.true, case.matrix, multi_class="ovr", labels=case.labels))
    # scikit-learn has no score for a label that is never true, and averages over the others.
    each = [roc_auc_score([label == own for own in case.true], columns[label]) for label in true_labels]
    return math.fsum(each) / len(each)

from collections.abc import Mapping
from itertools import islice
from typing import Any

import pytest

from aex_outcomes.extractors.answers import AnswersExtractor
from aex_outcomes.extractors.classification import ClassificationExtractor
from aex_outcomes.extractors.protocol import AgentFault, MetricValue
from aex_outcomes.extractors.text_quality import TextQualityExtractor
from tests.fidelity.__main__ import main
from tests.fidelity.answers import answer_rows, constructed_cases
from tests.fidelity.cases import label_cases, text_cases
from tests.fidelity.differences import LABEL_SCORES, FidelityRow, format_table, label_rows, text_rows
from tests.fidelity.extraction import records_cases, records_rows
from tests.fidelity.prediction_cases import number_cases, probability_cases
from tests.fidelity.predictions import number_rows, probability_rows
from tests.fidelity.ranking import ranking_cases, ranking_rows


class ShiftedExtractor:
    """An extractor that adds a small difference to every score."""

    def __init__(self, inner: TextQualityExtractor | ClassificationExtractor | AnswersExtractor, by: float) -> None:
        self._inner = inner
        self._by = by
        self.supported_metrics = inner.supported_metrics
        self.catalog_entries = inner.catalog_entries

    async def extract(
        self, task_input: Mapping[str, Any], task_output: Any, metadata: Mapping[str, Any]
    ) -> dict[str, MetricValue]:
        scores = await self._inner.extract(task_input, task_output, metadata)
        return {name: each + self._by if isinstance(each, int | float) else each for name, each in scores.items()}


async def test_text_metrics_equal_the_reference_libraries_on_300_pairs() -> None:
    rows = await text_rows(text_cases(seed=7, count=300))
    assert {(row.metric, row.pairs, row.is_met) for row in rows} == {
        (name, 300, True) for name in ("rouge1", "rouge2", "rougeL", "bleu_score")
    }


async def test_classification_equals_scikit_learn_on_300_sets_of_labels() -> None:
    rows = await label_rows(label_cases(seed=7, count=300))
    assert {(row.metric, row.pairs, row.is_met) for row in rows} == {(name, 300, True) for name in LABEL_SCORES}


async def test_regression_equals_scikit_learn_and_scipy_on_300_lists_of_numbers() -> None:
    rows = await number_rows(number_cases(seed=7), 300)
    assert {(row.metric, row.pairs, row.is_met) for row in rows} == {
        (name, 300, True) for name in ("mae", "rmse", "mape", "r2", "spearman")
    }


async def test_scores_of_probabilities_equal_scikit_learn_on_100_sets_of_distributions() -> None:
    rows = await probability_rows(probability_cases(seed=7, count=100))
    assert {(row.metric, row.pairs, row.is_met) for row in rows} == {
        (name, 100, True) for name in ("roc_auc", "log_loss", "brier")
    }


async def test_metrics_of_answers_equal_the_reference_libraries_on_300_pairs() -> None:
    rows = await answer_rows(text_cases(seed=7, count=300), constructed_cases(seed=7, count=300))
    assert {(row.metric, row.pairs, row.is_met) for row in rows} == {
        (name, 300, True) for name in AnswersExtractor().supported_metrics()
    }


async def test_scores_of_records_equal_those_of_scipys_assignment_on_300_pairs() -> None:
    rows = await records_rows(records_cases(seed=7, count=300))
    assert {(row.metric, row.pairs, row.is_met) for row in rows} == {
        (name, 300, True) for name in ("field_precision", "field_recall", "field_f1", "field_accuracy", "record_f1")
    }


async def test_scores_of_rankings_equal_those_of_trec_eval_on_300_pairs() -> None:
    rows = await ranking_rows(ranking_cases(seed=7, count=300))
    assert {(row.metric, row.pairs, row.is_met) for row in rows} == {
        (name, 300, True) for name in ("precision_at_k", "recall_at_k", "mrr", "ndcg_at_k", "average_precision")
    }


async def test_small_differences_are_reported() -> None:
    texts = await text_rows(text_cases(7, 5), ShiftedExtractor(TextQualityExtractor(), 2e-9))
    labels = await label_rows(label_cases(7, 5), ShiftedExtractor(ClassificationExtractor(), 2e-12))
    shifted = ShiftedExtractor(AnswersExtractor(), 2e-9)
    answers = await answer_rows(text_cases(7, 5), constructed_cases(7, 5), shifted)
    assert [row.is_met for row in (*texts, *labels, *answers)] == [False] * 19
    assert format_table(texts).count(" NO") == 4


@pytest.mark.parametrize("value", [None, float("nan"), float("inf"), AgentFault("x", "y")])
def test_value_that_is_no_number_misses_the_bar(value: Any) -> None:
    row = FidelityRow("m", "r", 1e-9)
    row.count(value, 0.5)
    assert not row.is_met


def test_bar_is_missed_without_pairs() -> None:
    assert not FidelityRow("m", "r", 1e-9).is_met


def test_command_prints_a_line_per_metric_and_exits_with_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["20", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 38
    assert all(line.endswith(" yes") for line in lines[1:])


def test_cases_cover_all_kinds_of_texts_and_labels() -> None:
    texts = list(text_cases(1, 1_000))
    assert len(texts) == 1_000
    assert max(len(case.candidate.split()) for case in texts) >= 2_000
    assert {len(case.references) for case in texts} >= {1, 2, 3, 4}
    assert any(not case.candidate for case in texts)
    assert any(not case.candidate.isascii() for case in texts)
    labels = list(label_cases(1, 1_000))
    assert {type(each) for case in labels for each in case.true} == {str, int, bool}
    assert any(set(case.predicted) - set(case.true) for case in labels)
    assert any(isinstance(each, dict) and "id" in each for case in labels for each in case.predictions)
    verdicts = [(each.metric, each.is_right) for each in constructed_cases(1, 1_000)]
    assert {*verdicts} == {(name, right) for name in ("numeric_match", "choice_match") for right in (True, False)}
    assert len(verdicts) == 2_000


def test_cases_cover_all_kinds_of_numbers_and_distributions() -> None:
    numbers = list(islice(number_cases(1), 1_000))
    assert any(len(set(case.true)) == 1 for case in numbers)
    assert any(len(set(case.predicted)) == 1 < len(set(case.true)) for case in numbers)
    assert any(1 < len(set(case.true)) < len(case.true) for case in numbers)
    assert any(0 < min(map(abs, case.true)) < 1e-16 for case in numbers)
    assert any(isinstance(each, dict) and "id" in each for case in numbers for each in case.predictions)
    distributions = list(probability_cases(1, 300))
    assert {type(each) for case in distributions for each in case.true} == {str, int, bool}
    assert any(set(case.labels) - set(case.true) for case in distributions)
    assert any({0.0, 1.0} & {*row} for case in distributions for row in case.matrix)
    assert any(abs(sum(row) - 1) > 1e-7 for case in distributions for row in case.matrix)


def test_cases_cover_all_kinds_of_records_and_rankings() -> None:
    records = list(records_cases(1, 500))
    assert {kind for case in records for kind in case.kinds.values()} == {
        "exact", "casefold", "number", "date", "set", "fuzzy",
    }  # fmt: skip
    assert {"key" in case.records for case in records} == {True, False}
    assert {len(case.delivered) - len(case.records["items"]) for case in records} >= {-2, -1, 0, 1}
    rankings = list(ranking_cases(1, 500))
    assert {len(case.ids) > case.k for case in rankings} == {True, False}
    assert any(isinstance(each, int) for case in rankings for each in case.delivered)
    assert any(isinstance(each, dict) for case in rankings for each in case.delivered)

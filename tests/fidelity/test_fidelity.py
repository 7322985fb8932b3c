"""A slice of `make fidelity`, and a check that it would notice."""

from collections.abc import Mapping
from typing import Any

import pytest

from aex_outcomes.extractors.classification import ClassificationExtractor
from aex_outcomes.extractors.protocol import AgentFault, MetricValue
from aex_outcomes.extractors.text_quality import TextQualityExtractor
from tests.fidelity.__main__ import main
from tests.fidelity.cases import label_cases, text_cases
from tests.fidelity.differences import Row, label_rows, table, text_rows


class Slightly:
    """An extractor whose every score is a little off."""

    def __init__(self, inner: TextQualityExtractor | ClassificationExtractor, by: float) -> None:
        self._inner = inner
        self._by = by
        self.supported_metrics = inner.supported_metrics
        self.catalog_entries = inner.catalog_entries

    async def extract(
        self, task_input: Mapping[str, Any], task_output: Any, metadata: Mapping[str, Any]
    ) -> dict[str, MetricValue]:
        found = await self._inner.extract(task_input, task_output, metadata)
        return {name: each + self._by if isinstance(each, int | float) else each for name, each in found.items()}


async def test_text_metrics_equal_the_reference_libraries_on_300_pairs() -> None:
    rows = await text_rows(text_cases(seed=7, count=300))
    assert {(row.metric, row.pairs, row.ok) for row in rows} == {
        (name, 300, True) for name in ("rouge1", "rouge2", "rougeL", "bleu_score")
    }


async def test_classification_equals_scikit_learn_on_300_sets_of_labels() -> None:
    rows = await label_rows(label_cases(seed=7, count=300))
    assert {(row.metric, row.pairs, row.ok) for row in rows} == {
        (name, 300, True) for name in ("accuracy", "precision", "recall", "f1_score")
    }


async def test_scores_slightly_off_are_noticed() -> None:
    texts = await text_rows(text_cases(7, 5), Slightly(TextQualityExtractor(), 2e-9))
    labels = await label_rows(label_cases(7, 5), Slightly(ClassificationExtractor(), 2e-12))
    assert [row.ok for row in (*texts, *labels)] == [False] * 8
    assert table(texts).count(" NO") == 4


@pytest.mark.parametrize("odd", [None, float("nan"), float("inf"), AgentFault("x", "y")])
def test_what_is_no_number_is_infinitely_far_off(odd: Any) -> None:
    row = Row("m", "r", 1e-9)
    row.count(odd, 0.5)
    assert not row.ok


def test_no_pairs_prove_nothing() -> None:
    assert not Row("m", "r", 1e-9).ok


def test_the_command_prints_a_line_for_each_metric_and_says_by_its_exit_code_that_all_is_well(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["20", "3"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 9
    assert all(line.endswith(" yes") for line in lines[1:])


def test_the_cases_are_as_varied_as_they_claim() -> None:
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

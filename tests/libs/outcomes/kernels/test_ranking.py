import math

import pytest

from aex_outcomes.kernels.ranking import RankingScores, score_ranking


@pytest.mark.parametrize(
    ("ranked", "judged", "k", "expected"),
    [
        ([0, 1], [1], 10, RankingScores(0.1, 1, 0.5, 1 / math.log2(3), 0.5)),
        ([], [1], 10, RankingScores(0, 0, 0, 0, 0)),
        ([0, 0, 0], [1], 1, RankingScores(0, 0, 0, 0, 0)),
        ([3, 1], [1, 3, 0], 2, RankingScores(1, 1, 1, 1, 1)),
        ([1, 1], [1, 1, 1, 1], 1, RankingScores(1, 0.25, 1, 1, 0.5)),
        ([0, 0, 2], [2, 2], 2, RankingScores(0, 0, 1 / 3, 0, 1 / 6)),
    ],
)
def test_scores_by_their_definitions(ranked: list[int], judged: list[int], k: int, expected: RankingScores) -> None:
    assert score_ranking(ranked, judged, k) == pytest.approx(expected)


def test_a_ranking_without_relevant_items_has_no_scores() -> None:
    with pytest.raises(ValueError, match="above 0"):
        score_ranking([0], [0], 1)

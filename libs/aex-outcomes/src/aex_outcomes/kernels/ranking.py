"""Metrics of rankings with graded relevance, equal to trec_eval to 1e-9.

They are its measures P_k, recall_k, recip_rank, ndcg_cut_k and map. An item is relevant if its grade is above 0. The
order is that of the ranking, while trec_eval sorts by score and breaks ties by id.
"""

import math
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple


class RankingScores(NamedTuple):
    """Scores of a ranking, each from 0 to 1."""

    precision_at_k: float
    recall_at_k: float
    mrr: float
    """Reciprocal rank of the first relevant item of the complete ranking; 0 without one."""
    ndcg_at_k: float
    average_precision: float
    """Mean over all relevant items of the precision at their ranks; 0 for one that the ranking lacks."""


def score_ranking(ranked_grades: Sequence[int], all_grades: Sequence[int], k: int) -> RankingScores:
    """Return the scores of a ranking.

    `ranked_grades`: grades of the ranked items in their order, 0 for an item without one. `all_grades`: grades of all
    items that have one, in any order. `k`: number of top items that the metrics with a cut-off read. Raises
    `ValueError` if no grade is above 0.
    """
    relevant = sum(grade > 0 for grade in all_grades)
    if not relevant:
        raise ValueError("at least one item must have a grade above 0")
    hits = [grade > 0 for grade in ranked_grades]
    hits_at_k = sum(hits[:k])
    precisions = [found / rank for rank, found in enumerate(accumulate(hits), 1) if hits[rank - 1]]
    ideal = _discounted_gain(sorted(all_grades, reverse=True)[:k])
    return RankingScores(
        precision_at_k=hits_at_k / k,
        recall_at_k=hits_at_k / relevant,
        mrr=1 / (hits.index(True) + 1) if True in hits else 0.0,
        ndcg_at_k=min(_discounted_gain(ranked_grades[:k]) / ideal, 1.0),
        average_precision=min(math.fsum(precisions) / relevant, 1.0),
    )


def _discounted_gain(grades: Sequence[int]) -> float:
    return math.fsum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades, 1))

"""Random rankings and their scores by trec_eval (pytrec-eval-terrier)."""

import random
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytrec_eval

from aex_outcomes.extractors.protocol import MetricExtractor
from aex_outcomes.extractors.ranking import RankingExtractor
from tests.fidelity.differences import FidelityRow

BAR = 1e-9
_MEASURES = {
    "precision_at_k": "P",
    "recall_at_k": "recall",
    "mrr": "recip_rank",
    "ndcg_at_k": "ndcg_cut",
    "average_precision": "map",
}
_WITH_CUT_OFF = ("P", "recall", "ndcg_cut")


@dataclass(frozen=True, slots=True)
class RankingCase:
    """Expected relevance, and the delivered ranking as ids and as the output has it."""

    relevance: Mapping[str, int]
    k: int
    ids: list[str]
    delivered: list[Any]


def ranking_cases(seed: int, count: int) -> Iterator[RankingCase]:
    """Yield rankings of judged and other items, complete and partial, of one to 300 items."""
    source = random.Random(seed)
    for _ in range(count):
        size = source.choice([1, 2, 3, 5, 10, 30, 100, 300])
        pool = [str(number) if source.random() < 0.5 else f"item {number}" for number in range(2 * size)]
        grades = source.choice([[0, 1], [0, 1, 2, 3], [0, 0, 0, 0, 1], [0, 1, 1_000]])
        relevance = {name: source.choice(grades) for name in source.sample(pool, source.randint(1, size))}
        relevance[source.choice([*relevance])] = max(grades)
        ids = source.sample(pool, source.randint(1, len(pool)))
        if source.random() < 0.5:  # almost sorted
            ids.sort(key=lambda name: relevance.get(name, 0) + source.choice([0, 0, 2]), reverse=True)
        delivered = [_draw_form(source, name) for name in ids]
        yield RankingCase(relevance, source.choice([1, 2, 3, 5, 10, 20, 100, 1_000]), ids, delivered)


def _draw_form(source: random.Random, name: str) -> Any:
    key = int(name) if name.isdigit() and source.random() < 0.5 else name
    return {"id": key, "score": source.random()} if source.random() < 0.5 else key


async def ranking_rows(cases: Iterable[RankingCase], extractor: MetricExtractor | None = None) -> list[FidelityRow]:
    """Compare the scores of rankings with those of trec_eval."""
    extractor = extractor or RankingExtractor()
    rows = {name: FidelityRow(name, "trec_eval", BAR) for name in _MEASURES}
    for case in cases:
        ranking = {"relevance": case.relevance, "k": case.k}
        own = await extractor.extract({"ranking": ranking}, {"ranking": case.delivered}, {})
        for name, reference in _trec_eval(case).items():
            rows[name].count(own.get(name), reference)
    return list(rows.values())


def _trec_eval(case: RankingCase) -> dict[str, float]:
    # Scores decrease strictly, because trec_eval breaks ties by id.
    run = {name: float(len(case.ids) - position) for position, name in enumerate(case.ids)}
    measures = {f"{each}.{case.k}" if each in _WITH_CUT_OFF else each for each in _MEASURES.values()}
    found = pytrec_eval.RelevanceEvaluator({"q": dict(case.relevance)}, measures).evaluate({"q": run})["q"]
    return {name: found[f"{each}_{case.k}" if each in _WITH_CUT_OFF else each] for name, each in _MEASURES.items()}

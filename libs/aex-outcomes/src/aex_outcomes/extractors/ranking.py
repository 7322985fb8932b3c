"""Extractor of scores that compare a ranking with the relevance of its items."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from aex_models.catalog import MetricEntry
from aex_models.grader_data import ExpectedRanking
from aex_models.numbers import is_integral_number
from aex_models.work import Problem
from aex_outcomes.extractors.catalog_entries import build_secret_score_entry
from aex_outcomes.extractors.protocol import AgentFault, Metrics
from aex_outcomes.extractors.text_quality import require_json_pointer
from aex_outcomes.json_values import resolve_first_pointer
from aex_outcomes.kernels.ranking import score_ranking

_DESCRIPTIONS = {
    "precision_at_k": "Number of relevant items among the top k, divided by k.",
    "recall_at_k": "Share of the relevant items that are among the top k.",
    "mrr": "Reciprocal rank of the first relevant item; 0 without one.",
    "ndcg_at_k": "Sum of grade / log2(rank + 1) over the top k, divided by the greatest possible sum.",
    "average_precision": "Mean over all relevant items of the precision at their ranks.",
}


@dataclass(frozen=True, slots=True)
class RankingExtractor:
    """Extractor of scores of a ranking: a list of ids, or of objects with `id`, the best item first.

    An item is relevant if its grade is above 0. The id 7 is the same as the id "7", because names in JSON are texts.
    """

    ranking_pointer: str = "/ranking"
    """JSON pointer to the ranking in the output, where the evaluation data name no other."""
    _named_pointer: str | None = None
    """JSON pointer of named data, which replaces all others."""
    version = "1"

    def __post_init__(self) -> None:
        require_json_pointer(self.ranking_pointer)

    def at_pointer(self, pointer: str) -> "RankingExtractor":
        """Return an extractor that reads the ranking at this JSON pointer."""
        return replace(self, _named_pointer=pointer)

    async def extract(self, task_input: Mapping[str, Any], task_output: Any, metadata: Mapping[str, Any]) -> Metrics:
        """Return all scores if the output has a ranking.

        Raises `AgentFault` for one that is no list, has an item without an id, or has an id twice.
        """
        raw = task_input.get("ranking")
        if raw is None:
            return {}
        expected = ExpectedRanking.model_validate(raw)
        found = resolve_first_pointer(task_output, self._named_pointer, expected.at, self.ranking_pointer)
        if found is None:
            return {}
        grades = {str(key): grade for key, grade in expected.relevance.items()}
        ranked = [grades.get(each, 0) for each in _list_ids(found)]
        return {**score_ranking(ranked, [*grades.values()], expected.k)._asdict()}

    def supported_metrics(self) -> list[str]:
        return [*_DESCRIPTIONS]

    def catalog_entries(self) -> tuple[MetricEntry, ...]:
        """Return the entries of all metrics, which are secret because the relevance determines them."""
        return tuple(
            build_secret_score_entry(name, None, "ranking", text, self.ranking_pointer)
            for name, text in _DESCRIPTIONS.items()
        )

    def check_evaluation(self, evaluation: Mapping[str, Any]) -> Iterable[Problem]:
        """Yield a problem if no item is relevant."""
        ranking = evaluation.get("ranking")
        relevance = ranking.get("relevance") if isinstance(ranking, Mapping) else None
        if isinstance(relevance, Mapping) and relevance and not any(map(_is_relevant, relevance.values())):
            message = "At least one item must have a grade above 0"
            yield Problem(path="/ranking/relevance", code="nothing_relevant", message=message)


def _is_relevant(grade: Any) -> bool:
    """Return True for a grade above 0; a malformed one counts, because the model reports it."""
    return type(grade) is not int or grade > 0


def _list_ids(found: Any) -> Sequence[str]:
    """Return the ids of a ranking. Raises `AgentFault` for no list, and a missing or repeated id."""
    if not isinstance(found, list | tuple):
        raise AgentFault("invalid_ranking", "expected a ranking: an array of ids, or of objects with id")
    ids: dict[str, int] = {}
    for position, item in enumerate(found):
        value: Any = item.get("id") if isinstance(item, Mapping) else item
        if not isinstance(value, str) and not is_integral_number(value):
            raise AgentFault("invalid_ranking", f"item {position}: expected an id, or an object with one")
        key = value if isinstance(value, str) else str(int(value))
        if (first := ids.setdefault(key, position)) != position:
            raise AgentFault("duplicate_id", f"items {first} and {position} have the same id")
    return [*ids]

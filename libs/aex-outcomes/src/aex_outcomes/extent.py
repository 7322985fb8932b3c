"""How much evaluation data there is: all of them that decides what can be reached, and what is warned of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aex_models.criteria import SuccessCriterion
from aex_outcomes.extractors.text import references_of
from aex_outcomes.kernels.keywords import distinct_terms
from aex_outcomes.kernels.rouge import is_rouge_type, tokenize

BY_LABELS = frozenset({"accuracy", "recall"})
BY_TERMS = "contains_keywords"


@dataclass(frozen=True, slots=True)
class Extent:
    """Numbers, never the data themselves; 0 and False too for what no criterion asks for."""

    labels: int = 0
    """True labels, of which the share of right ones is a count."""
    terms: int = 0
    """Required keywords that differ."""
    wordless: bool = False
    """Whether there are references, and ROUGE sees no word in any of them."""


NOTHING = Extent()


def extent_of(criteria: Sequence[SuccessCriterion], evaluation: Mapping[str, Any]) -> Extent:
    """How much there is of the evaluation data of criteria, which are valid."""
    if not evaluation:
        return NOTHING
    metrics = {each.metric for each in criteria}
    return Extent(
        labels=len(evaluation.get("ground_truth") or ()) if metrics & BY_LABELS else 0,
        terms=len(distinct_terms(evaluation.get("required_keywords") or ())) if BY_TERMS in metrics else 0,
        wordless=any(map(is_rouge_type, metrics)) and _is_wordless(references_of(evaluation)),
    )


def _is_wordless(references: Sequence[str]) -> bool:
    return bool(references) and not any(tokenize(each) for each in references)

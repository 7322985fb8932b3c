"""Facts for governance about any text, and verdicts on hostile ones, in bounded time."""

import time
from collections.abc import Mapping
from typing import Any

import pytest

from aex_models.governance import ValidationDecision
from aex_models.results import VerificationResult
from aex_outcomes import VerificationEngine
from aex_outcomes.engine.candidate import CandidateFacts
from tests.libs.outcomes.engine.builders import Still
from tests.libs.outcomes.engine.stories import one, valid

TERMS = {"required_keywords": ["revenue", "margin"]}
ANY = one("word_count", "count", "gte", 0)


class Listening:
    """Governance that finds everything valid and keeps what it was told."""

    def __init__(self) -> None:
        self.told: list[CandidateFacts] = []

    async def validate(self, facts: CandidateFacts) -> ValidationDecision:
        self.told.append(facts)
        return ValidationDecision(action="allow", valid=True)


async def told(
    text: str, evaluation: Mapping[str, Any], *criteria: dict[str, Any]
) -> tuple[VerificationResult, CandidateFacts]:
    """The verdict, and what governance was told."""
    governance = Listening()
    engine = VerificationEngine({"caching": {"extractor_results_ttl": 0}}, governance, Still())
    found = await engine.verify(
        contract_id="ctr_1",
        work_input={},
        work_output={"text": text},
        success_criteria=valid(list(criteria)),
        evaluation=evaluation,
    )
    return found, governance.told[0]


async def test_terms_are_looked_for_in_the_whole_text_however_long_what_governance_reads_of_it() -> None:
    padded = "We had a good year. " * 20_000 + "\nrevenue, margin"
    found, facts = await told(padded, TERMS, one("contains_keywords", "contains", "gte", 1))
    assert found.verdict == "passed"
    assert facts.output_text == padded[:200_000]
    assert facts.keyword_stats is not None
    assert (facts.keyword_stats.found, facts.keyword_stats.list_share) == (2, 1)


async def test_of_a_text_that_unfolds_too_far_governance_is_told_of_the_first_part() -> None:
    text = "Revenue rose. " + "\ufdfa" * 300_000 + " margin"
    found, facts = await told(text, TERMS, one("contains_keywords", "contains", "gte", 0))
    [result] = found.criterion_results
    assert result.error is not None
    assert (result.error.code, found.verdict) == ("text_too_long", "rejected")
    assert facts.keyword_stats is not None
    assert facts.keyword_stats.found == 1


async def test_of_a_text_too_long_for_rouge_l_the_likeness_is_that_of_its_first_part() -> None:
    text = "zz " + "a " * 400_000
    found, facts = await told(text, {"reference": "zz " * 200_000}, one("rougeL", "rouge_score", "gte", 0))
    [result] = found.criterion_results
    assert result.error is not None
    assert (result.error.code, found.verdict) == ("text_too_long", "rejected")
    assert facts.reference_similarity is not None
    assert facts.reference_similarity.rouge_l == pytest.approx(2 / (60_000_000_000 // 201_000 + 200_000), rel=1e-6)


async def test_a_copy_behind_more_text_than_governance_reads_is_near_all_the_same() -> None:
    secret = "The mayor agreed to wait until members from both banks had a second opinion on the contract for the new "
    secret += "bridge over the river, whose cost has risen by a third since the council last met in March."
    _, facts = await told("We had a good year. " * 20_000 + secret.upper(), {"reference": secret}, ANY)
    assert facts.reference_similarity is not None
    assert facts.reference_similarity.likeness == 1
    assert facts.reference_similarity.bleu == pytest.approx(0, abs=0.01)


async def test_of_a_text_that_unfolds_too_far_the_first_part_is_compared() -> None:
    _, facts = await told("revenue and " + "\ufdfa" * 300_000, {"reference": "revenue and margin"}, ANY)
    assert facts.reference_similarity is not None
    assert facts.reference_similarity.likeness == pytest.approx(4 / 20_003, rel=1e-2)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    ["a" + "\u0301\u0316" * 499_999, "\ufdfa" * 1_000_000, "\u3316" * 1_000_000, "a. " * 333_333, ".," * 500_000],
    ids=["marks", "ligatures", "squares", "sentences", "points"],
)
async def test_no_text_keeps_the_verdict_from_being_reached(text: str) -> None:
    criteria = [one("contains_keywords", "contains", "gte", 1), one("bleu_score", "bleu_score", "gte", 0.5)]
    criteria += [one("contains_keywords", "contains", "contains_all", [f"term {number}"]) for number in range(8)]
    started = time.perf_counter()
    found, _ = await told(text, TERMS | {"reference": "the revenue and the margin"}, *criteria)
    assert found.verdict == "rejected"
    assert time.perf_counter() - started < 25  # 1 to 5 s

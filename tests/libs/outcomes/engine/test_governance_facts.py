import time
from collections.abc import Mapping
from typing import Any

import pytest

from aex_models.results import VerificationResult
from aex_outcomes import VerificationEngine
from aex_outcomes.engine.candidate import CandidateFacts
from aex_outcomes.engine.governance_facts import secret_references
from aex_outcomes.engine.job import verify_candidate
from tests.libs.outcomes.engine.builders import Deciding, Still
from tests.libs.outcomes.engine.stories import one, valid

TERMS = {"required_keywords": ["revenue", "margin"]}
ANY = one("word_count", "count", "gte", 0)


async def feedback(
    text: str, evaluation: Mapping[str, Any], *criteria: dict[str, Any]
) -> tuple[VerificationResult, CandidateFacts]:
    governance = Deciding("allow")
    engine = VerificationEngine({"caching": {"extractor_results_ttl": 0}}, governance, Still())
    found = await engine.verify(
        contract_id="ctr_1",
        work_input={},
        work_output={"text": text},
        success_criteria=valid(list(criteria)),
        evaluation=evaluation,
    )
    return found, governance.feedback[0]


async def test_terms_are_looked_for_in_the_complete_text_however_long_what_governance_reads_of_it() -> None:
    padded = "We had a good year. " * 20_000 + "\nrevenue, margin"
    found, facts = await feedback(padded, TERMS, one("contains_keywords", "contains", "gte", 1))
    assert found.verdict == "passed"
    assert facts.output_text == padded[:200_000]
    assert facts.keyword_stats is not None
    assert (facts.keyword_stats.found, facts.keyword_stats.list_share) == (2, 1)


async def test_a_text_that_unfolds_too_far_governance_is_reported_of_the_first_part() -> None:
    text = "Revenue rose. " + "\ufdfa" * 300_000 + " margin"
    found, facts = await feedback(text, TERMS, one("contains_keywords", "contains", "gte", 0))
    [result] = found.criterion_results
    assert result.error is not None
    assert (result.error.code, found.verdict) == ("text_too_long", "rejected")
    assert facts.keyword_stats is not None
    assert facts.keyword_stats.found == 1


async def test_a_text_too_long_for_rouge_l_the_similarity_is_that_of_its_first_part() -> None:
    text = "zz " + "a " * 400_000
    found, facts = await feedback(text, {"reference": "zz " * 200_000}, one("rougeL", "rouge_score", "gte", 0))
    [result] = found.criterion_results
    assert result.error is not None
    assert (result.error.code, found.verdict) == ("text_too_long", "rejected")
    assert facts.reference_similarity is not None
    assert facts.reference_similarity.rouge_l == pytest.approx(2 / (60_000_000_000 // 201_000 + 200_000), rel=1e-6)


async def test_a_copy_behind_more_text_than_governance_reads_is_near_all_the_same() -> None:
    secret = "The mayor agreed to wait until members from both banks had a second opinion on the contract for the new "
    secret += "bridge over the river, whose cost has risen by a third since the council last met in March."
    _, facts = await feedback("We had a good year. " * 20_000 + secret.upper(), {"reference": secret}, ANY)
    assert facts.reference_similarity is not None
    assert facts.reference_similarity.likeness == 1
    assert facts.reference_similarity.bleu == pytest.approx(0, abs=0.01)


async def test_of_a_text_that_unfolds_too_far_the_first_part_is_compared() -> None:
    _, facts = await feedback("revenue and " + "\ufdfa" * 300_000, {"reference": "revenue and margin"}, ANY)
    assert facts.reference_similarity is not None
    assert facts.reference_similarity.likeness == pytest.approx(4 / 20_003, rel=1e-2)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    ["a" + "\u0301\u0316" * 499_999, "\u3316" * 1_000_000, "a. " * 333_333],
    ids=["marks", "squares", "sentences"],
)
async def test_no_text_keeps_the_verdict_from_being_reached(text: str) -> None:
    criteria = [one("contains_keywords", "contains", "gte", 1), one("bleu_score", "bleu_score", "gte", 0.5)]
    criteria += [one("contains_keywords", "contains", "contains_all", [f"term {number}"]) for number in range(8)]
    started = time.process_time()
    found, _ = await feedback(text, TERMS | {"reference": "the revenue and the margin"}, *criteria)
    assert found.verdict == "rejected"
    assert time.process_time() - started < 25  # 1 to 5 s


FIRST = "The committee approved the new budget for public libraries on Monday after a long debate."
SECOND = "Three members of the opposition voted against it, and two of them left the room in protest."
ARTICLE = f"Town hall, Tuesday. {FIRST} It had been expected. {SECOND} The mayor was content."
SECRET = "Libraries in town will get more money next year, as the council's members decided late on Monday."


def similarity(text: str, reference: Any, work_input: dict[str, Any]) -> dict[str, Any] | None:
    criteria = {"metric": "rougeL", "metric_type": "rouge_score", "comparison": "gte", "threshold": 0.4}
    payload = {
        "contract_id": "ctr_1",
        "success_criteria": {"criteria": [criteria]},
        "config": None,
        "work_input": work_input,
        "evaluation": {"reference": reference},
        "output": {"text": text},
    }
    found: dict[str, Any] | None = verify_candidate(payload)["reference_similarity"]
    return found


def test_an_extract_of_the_input_is_no_copy_of_a_secret() -> None:
    assert similarity(FIRST, FIRST, {"article": ARTICLE}) is None
    assert similarity(FIRST, FIRST, {}) == {"rouge_l": 1.0, "bleu": pytest.approx(1.0), "likeness": 1.0}


@pytest.mark.parametrize(
    "given",
    [
        ARTICLE.upper(),
        ARTICLE.replace(" ", "\n  "),
        ARTICLE.replace("é", "e").replace("'", "’").replace(",", " –"),
        ["unrelated", {"sections": [FIRST, {"more": SECOND}]}],
    ],
)
def test_case_space_punctuation_and_position_make_no_difference(given: Any) -> None:
    assert secret_references([f"{FIRST} {SECOND}"], {"any": given}) == ()


def test_of_several_references_the_hidden_ones_alone_are_compared() -> None:
    found = similarity(FIRST, [FIRST, SECRET], {"article": ARTICLE})
    assert found is not None
    assert found["rouge_l"] < 0.5
    copied = similarity(SECRET, [FIRST, SECRET], {"article": ARTICLE})
    assert copied == {"rouge_l": 1.0, "bleu": pytest.approx(1.0), "likeness": 1.0}


def test_what_is_like_no_reference_is_measured_against_all_of_them() -> None:
    found = similarity("Nothing was decided.", FIRST, {"article": ARTICLE})
    assert found is not None
    assert found["rouge_l"] < 0.3


def test_a_copy_in_a_script_that_rouge_does_not_read_is_looked_at_as_any() -> None:
    visible, secret = "委员会经过长时间辩论后批准了公共图书馆的新预算", "三名反对派成员投了反对票并在抗议中离开了会议室"
    found = similarity(f"{secret}！", [visible, secret], {"article": f"周一，{visible}。"})
    assert found is not None
    assert (found["likeness"], found["rouge_l"]) == (1.0, 0.0)
    assert similarity(visible, visible, {"article": f"周一，{visible}。"}) is None


def test_words_that_the_input_has_too_do_not_make_a_reference_visible() -> None:
    shuffled = " ".join(sorted(SECRET.split()))
    assert secret_references([SECRET], {"words": shuffled, "half": SECRET[: len(SECRET) // 2]}) == (SECRET,)
    assert secret_references(["!?"], {"text": "!?"}) == ("!?",)


@pytest.mark.slow
@pytest.mark.parametrize("filling", ["预" * 3_000_000, "\ufdfa" * 1_000_000], ids=["han", "far"])
def test_no_input_and_no_number_of_references_takes_long(filling: str) -> None:
    references = [f"{SECRET} {place}" for place in range(8_000)]
    started = time.process_time()
    assert len(secret_references(references, {"text": filling})) == len(references)
    assert time.process_time() - started < 20  # 2 s

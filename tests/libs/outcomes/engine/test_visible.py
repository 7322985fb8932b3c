"""A reference that the agent was given is no secret: who quotes it copies nothing."""

import time
from typing import Any

import pytest

from aex_outcomes.engine.job import verify_candidate
from aex_outcomes.engine.visible import hidden_of

FIRST = "The committee approved the new budget for public libraries on Monday after a long debate."
SECOND = "Three members of the opposition voted against it, and two of them left the room in protest."
ARTICLE = f"Town hall, Tuesday. {FIRST} It had been expected. {SECOND} The mayor was content."
SECRET = "Libraries in town will get more money next year, as the council's members decided late on Monday."


def similarity(text: str, reference: Any, work_input: dict[str, Any]) -> dict[str, Any] | None:
    """What governance is told of the likeness to the reference."""
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
def test_case_space_punctuation_and_place_make_no_difference(given: Any) -> None:
    assert hidden_of([f"{FIRST} {SECOND}"], {"any": given}) == ()


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
    shown, secret = "委员会经过长时间辩论后批准了公共图书馆的新预算", "三名反对派成员投了反对票并在抗议中离开了会议室"
    found = similarity(f"{secret}！", [shown, secret], {"article": f"周一，{shown}。"})
    assert found is not None
    assert (found["likeness"], found["rouge_l"]) == (1.0, 0.0)
    assert similarity(shown, shown, {"article": f"周一，{shown}。"}) is None


def test_words_that_the_input_has_too_do_not_make_a_reference_visible() -> None:
    shuffled = " ".join(sorted(SECRET.split()))
    assert hidden_of([SECRET], {"words": shuffled, "half": SECRET[: len(SECRET) // 2]}) == (SECRET,)
    assert hidden_of(["!?"], {"text": "!?"}) == ("!?",)


def test_scripts_without_spaces_are_read_by_character() -> None:
    reference = "委员会经过长时间辩论后批准了公共图书馆的新预算"
    assert hidden_of([reference], {"text": f"周一，{reference}。市长很满意。"}) == ()
    assert hidden_of([reference], {"text": "周一，委员会批准了别的预算。"}) == (reference,)


def test_a_reference_in_the_input_itself_is_no_secret() -> None:
    assert hidden_of([FIRST], {"reference": FIRST}) == ()


@pytest.mark.slow
@pytest.mark.parametrize(
    "filling", ["预" * 3_000_000, "a b " * 800_000, "\ufdfa" * 1_000_000], ids=["han", "ab", "far"]
)
def test_no_input_and_no_number_of_references_takes_long(filling: str) -> None:
    references = [f"{SECRET} {place}" for place in range(8_000)]
    started = time.perf_counter()
    assert len(hidden_of(references, {"text": filling})) == len(references)
    assert time.perf_counter() - started < 20  # 2 s

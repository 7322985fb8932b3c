"""The demo's first agent against the real engine, offline."""

import pytest

from aex_cli.demo.summary import (
    FIRST_DRAFT,
    add_sentences_until_complete,
    extract_sentences,
    find_unmet_requirements,
    parse_unmet_metrics,
)
from aex_cli.examples import FOLDER, read_example_work
from aex_cli.offline.documents import read_document
from aex_models.results import Verdict, VerificationResult
from aex_outcomes import VerificationEngine
from aex_outcomes.feedback import render_feedback

WORK = read_example_work("summary")
TEXT: str = WORK.input["text"]


async def verified(summary: str) -> VerificationResult:
    return await VerificationEngine().verify(
        contract_id="ctr_demo",
        work_input=WORK.input,
        work_output={"text": summary},
        success_criteria=WORK.success_criteria,
        evaluation=WORK.evaluation,
        execution_metadata={"duration_ms": 1.0},
    )


async def test_first_draft_is_rejected_and_its_feedback_leads_to_a_pass() -> None:
    assert WORK.success_criteria is not None
    draft = extract_sentences(TEXT, FIRST_DRAFT)
    first = await verified(draft)
    feedback = render_feedback(first, attempt=1, max_attempts=3, level=WORK.verification.feedback)
    unmet = parse_unmet_metrics(feedback)
    assert first.verdict is Verdict.REJECTED
    assert unmet == {"rougeL", "rouge2", "contains_keywords", "output_length"}
    assert first.metrics["rougeL"] == pytest.approx(0.294, abs=0.001)
    assert "0.29" not in feedback
    assert "Malthus" not in feedback  # a word of the secret reference
    revision = extract_sentences(
        TEXT, add_sentences_until_complete(TEXT, FIRST_DRAFT, *find_unmet_requirements(WORK.success_criteria, unmet))
    )
    second = await verified(revision)
    assert (second.verdict, str(second.bonus), str(second.penalty)) == (Verdict.PASSED, "0.300000", "0.020000")
    assert [each.metric for each in second.criterion_results if not each.met] == ["rouge2"]
    for name, text in (("first_draft", draft), ("revision", revision)):
        assert read_document("--output", str(FOLDER / f"summary/{name}.json")).value == {"text": text}


async def test_complete_text_is_rejected_and_the_reference_meets_all_criteria() -> None:
    assert (await verified(TEXT)).verdict is Verdict.REJECTED
    assert WORK.evaluation is not None
    result = await verified(str(WORK.evaluation.reference))
    assert all(each.met for each in result.criterion_results)


def test_revision_changes_nothing_without_unmet_criteria_and_respects_the_greatest_length() -> None:
    assert WORK.success_criteria is not None
    assert add_sentences_until_complete(TEXT, (2, 0), *find_unmet_requirements(WORK.success_criteria, frozenset())) == (
        0,
        2,
    )
    indexes = add_sentences_until_complete(TEXT, FIRST_DRAFT, ("ninety years old",), 2_000, 500)
    assert len(extract_sentences(TEXT, indexes)) <= 500
    assert indexes != FIRST_DRAFT

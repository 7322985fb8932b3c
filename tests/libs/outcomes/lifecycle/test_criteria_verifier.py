from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel

from aex_models.contract import Candidate, ExecutionMetadata
from aex_outcomes import AgentContext, CriteriaVerifier, RevisionLoop, VerificationEngine
from aex_outcomes.lifecycle.criteria_verifier import CriteriaNotMet, VerdictIndeterminate
from aex_outcomes.lifecycle.ruling import Rejected
from aex_outcomes.lifecycle.verifier import CheckedVerifier
from tests.libs.outcomes.engine.builders import SAMPLES, Still, criteria, criterion
from tests.libs.outcomes.lifecycle.loops import Script, Waits, context, outcome_parts
from tests.libs.outcomes.science.fitness import artifact, science

EXPECTED = criteria(
    criterion("rougeL", "gte", 0.4, metric_type="rouge_score", bonus=Decimal("0.05")),
    criterion("word_count", "lte", 9),
)
REFERENCE = {"reference": "The cat sat on the mat."}
GOOD = {"text": "The cat sat on the mat."}
BAD = {"text": "A dog barked."}


class Summary(BaseModel):
    text: str


def verifier(**more: Any) -> CriteriaVerifier:
    return CriteriaVerifier(EXPECTED, evaluation=REFERENCE, **more)


async def test_one_that_does_not_is_rejected_with_all_that_was_found() -> None:
    ruling = await CheckedVerifier(verifier(), Any).decide_ruling(Candidate(output=BAD), AgentContext(query="q"), None)
    assert isinstance(ruling, Rejected)
    assert (ruling.rejection.code, ruling.rejection.message) == ("criteria_not_met", "1 of 2 criteria not met.")
    assert ruling.result is not None
    assert [each.met for each in ruling.result.criterion_results] == [False, True]


async def test_the_agents_metadata_is_measured_too() -> None:
    fast = CriteriaVerifier(criteria(criterion("latency_ms", "lte", 500, metric_type="latency")))
    fast_feedback = Candidate(output=BAD, execution_metadata=ExecutionMetadata(duration_ms=20))
    assert await fast(BAD, fast_feedback, None) == BAD
    with pytest.raises(CriteriaNotMet):
        await fast(BAD, Candidate(output=BAD), None)


async def test_a_loop_reports_which_criteria_were_not_met_and_no_value() -> None:
    produce = Script(BAD, GOOD)
    end = await RevisionLoop(produce, output_type=Summary, verifier=verifier()).run("summarise")
    assert outcome_parts(end) == ("passed", Summary(text=GOOD["text"]))
    assert produce.seen[1].messages[-1]["content"].splitlines() == [
        '<verification_rejected code="criteria_not_met" attempt="1" max_attempts="3">',
        "Summary: 1 of 2 criteria not met.",
        "- rougeL: not met",
        "</verification_rejected>",
    ]


async def test_the_score_of_the_criteria_is_in_the_accounting() -> None:
    end = await RevisionLoop(Script(BAD), output_type=Summary, verifier=verifier(), max_attempts=1).run("q")
    (entry,) = context(end).verification.judged.values()
    assert entry.weighted_score == 0.5


async def test_what_the_engine_cannot_decide_is_a_system_error_and_counts_nothing() -> None:
    broken = VerificationEngine({"extractors": {"bad": {"class": f"{SAMPLES}:Failing"}}}, clock=Still())
    requests = CriteriaVerifier(criteria(criterion("broken")), engine=broken)
    waits = Waits()
    loop = RevisionLoop(Script(GOOD), output_type=Any, verifier=requests, max_system_retries=1, sleep=waits)
    end = await loop.run("q")
    assert outcome_parts(end) == (
        "failed",
        VerdictIndeterminate,
        "The criteria could not be verified: broken: extractor_failed",
    )
    assert (len(waits.seconds), context(end).verification.attempts_used) == (1, 0)


@pytest.mark.parametrize(
    ("expected", "evaluation", "expected_message"),
    [
        ({"criteria": [{"metric": "rougeL"}]}, None, "threshold"),
        (criteria(criterion("no_such_metric")), None, "no_such_metric"),
        (EXPECTED, {"refrence": "misspelt"}, "refrence"),
    ],
)
def test_criteria_that_cannot_be_judged_by_are_refused_at_construction(
    expected: Any, evaluation: Any, expected_message: str
) -> None:
    with pytest.raises(ValueError, match=expected_message):
        CriteriaVerifier(expected, evaluation=evaluation)


def claiming(mean: float | None, **more: Any) -> Candidate:
    given = {"output": GOOD, "claimed_values": {"mean_fitness": mean}, "artifacts": [artifact()], **more}
    return Candidate.model_validate(given)


async def test_a_loop_reports_which_claim_the_data_do_not_bear_out_and_no_figure() -> None:
    produce = Script(claiming(11.17), claiming(-0.39))
    end = await RevisionLoop(produce, output_type=Summary, verifier=CriteriaVerifier(None, science=science())).run("q")
    assert outcome_parts(end) == ("passed", Summary(text=GOOD["text"]))
    feedback = produce.seen[1].messages[-1]["content"]
    assert 'code="science_not_passed"' in feedback
    assert "- value_mismatch: mean_fitness" in feedback
    assert "0.39" not in feedback


async def test_an_upload_is_an_invalid_output_that_uses_no_attempt() -> None:
    uploaded = {"name": "scores.csv", "media_type": "text/csv", "sha256": "a" * 64}
    produce = Script(claiming(-0.39, artifacts=[uploaded]), claiming(-0.39))
    end = await RevisionLoop(produce, output_type=Any, verifier=CriteriaVerifier(None, science=science())).run("q")
    assert outcome_parts(end)[0] == "passed"
    assert context(end).verification.attempts_used == 1, "the one that passed"
    assert "/artifacts/0/sha256: the digest of an upload" in produce.seen[1].messages[-1]["content"]


async def test_without_the_consumers_data_the_gate_cannot_decide_which_is_a_system_error() -> None:
    requests = CriteriaVerifier(None, science=science(), data={"raw.csv": b"PK\x03\x04"})
    with pytest.raises(VerdictIndeterminate, match="claims could not be verified"):
        await requests(GOOD, claiming(-0.39), None)


@pytest.mark.parametrize(
    ("demanded", "expected_message"),
    [({"statistics": "all"}, "statistics"), (science(data=[{"name": "raw.csv"}]), r"names raw\.csv")],
)
def test_science_that_cannot_be_judged_by_is_refused_at_construction(demanded: Any, expected_message: str) -> None:
    with pytest.raises(ValueError, match=expected_message):
        CriteriaVerifier(None, science=demanded)

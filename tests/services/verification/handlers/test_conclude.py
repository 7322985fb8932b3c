from datetime import timedelta

from aex_models.governance import Decision
from aex_models.outcome import OutcomeRecord
from aex_verification.rules.outcomes import is_paid_or_successful
from aex_verification.rules.records import Policy
from tests.services.verification.flow import GOOD, SHORT, grade, opened, outcome, review, status

ONE, TWO, THREE = "a b", "a c", "one more text than there was"


async def test_request_holds_reasoning_and_other_text() -> None:
    bench = await opened(verifier=None)
    await grade(bench, {"text": "one two three", "notes": ["by hand"]}, reasoning="I counted.")
    assert bench.governance.requests[-1].other_text == "I counted.\nby hand"


async def test_request_holds_earlier_candidates_in_order() -> None:
    bench = await opened(verifier=None)
    for text in ("a", ONE, THREE):
        await grade(bench, text)
    request = bench.governance.requests[-1]
    assert [each.metrics["word_count"] for each in request.previous_attempts] == [1, 2]
    assert all(each.similarity is not None and 0 <= each.similarity < 0.3 for each in request.previous_attempts)


async def test_same_output_with_another_claim_has_similarity_1() -> None:
    bench = await opened(verifier=None, verification={"max_attempts": 2})
    await grade(bench, ONE)
    await grade(bench, ONE, reasoning="again")
    assert [each.similarity for each in bench.governance.requests[-1].previous_attempts] == [1.0]


async def test_request_holds_no_later_candidates() -> None:
    criteria = [{"metric": "word_count", "metric_type": "count", "comparison": "gte", "threshold": n} for n in (3, 9)]
    bench = await opened(verifier=None, success_criteria={"criteria": criteria})
    for text in (ONE, "a b c", TWO):  # the second is the best
        await grade(bench, text)
    assert len(bench.governance.requests[-1].previous_attempts) == 1


async def test_failures_and_retries_keep_the_request() -> None:
    plain = await opened(verifier=None)
    for text in (ONE, TWO, THREE):
        await grade(plain, text)
    expected = plain.governance.requests[-1].previous_attempts
    bench = await opened(verifier=None, policy=Policy(max_system_retries=1))
    await grade(bench, ONE)
    bench.grader.failures = 2
    await grade(bench, TWO)
    await bench.pass_time(timedelta(minutes=5))
    assert await status(bench) == "held"
    await review(bench, Decision.RETRY)
    await bench.deliver("output.submitted")
    assert await status(bench) == "awaiting_revision"
    await grade(bench, THREE)
    assert bench.governance.requests[-1].previous_attempts == expected


async def test_outcome_is_stored_without_its_result_and_published_with_it() -> None:
    bench = await opened(verifier=None, policy=Policy(store_outcomes=False))
    await grade(bench, GOOD, execution_metadata={"duration_ms": 1})
    stored = await outcome(bench)
    assert (stored.stored, stored.verification_result, stored.final_result) == (False, None, None)
    assert stored.execution_metadata == {}
    assert is_paid_or_successful(stored)
    [event] = bench.emitted("outcome.verified")
    published = OutcomeRecord.model_validate(event.data["outcome"])
    assert published.verification_result is not None
    assert published.verification_result.success
    assert (published.stored, published.billing_impact) == (True, stored.billing_impact)


async def test_failed_outcome_without_its_result_is_not_paid() -> None:
    changes = {"terms": {"cpc_rate": "0.10", "base_policy": "on_success"}, "verification": {"max_attempts": 1}}
    bench = await opened(verifier=None, policy=Policy(store_outcomes=False), **changes)
    await grade(bench, SHORT)
    assert await status(bench) == "exhausted"
    assert not is_paid_or_successful(await outcome(bench))

from datetime import timedelta
from decimal import Decimal

import pytest

from aex_models.contract import ContractStatus
from aex_models.governance import Decision, Party
from aex_models.results import Verdict
from aex_runtime.store.port import key_of
from aex_verification.repository import FINAL_RESULTS
from tests.parts.verification import VerificationBench
from tests.services.verification.flow import DULL, GOOD, grade, opened, outcome, review, status

WORDS = {"metric": "word_count", "metric_type": "count", "comparison": "gte", "bonus": "0.05", "penalty": "0.02"}
OWN = {"metric": "custom.mine", "metric_type": "count", "comparison": "gte", "threshold": 2, "bonus": "0.05"}


@pytest.mark.parametrize("policy", ["on_success", "per_criterion"])
@pytest.mark.parametrize(
    ("aggregation", "met", "text", "verdict"),
    [
        ("all", 2, "one two three", Verdict.PASSED),
        ("all", 1, "one two", Verdict.REJECTED),
        ("all", 2, "dull two three", Verdict.REJECTED),
        ("any", 1, "one two", Verdict.PASSED),
        ("any", 1, "dull two", Verdict.REJECTED),
        ("any", 0, "one", Verdict.REJECTED),
        ("weighted", 1, "one two", Verdict.PASSED),
        ("weighted", 1, "dull two", Verdict.REJECTED),
        ("weighted", 0, "dull", Verdict.REJECTED),
    ],
)
async def test_success_needs_criteria_and_verifier(
    aggregation: str, met: int, text: str, verdict: Verdict, policy: str
) -> None:
    listed = [WORDS | {"threshold": 2}, WORDS | {"threshold": 3}]
    criteria = {"criteria": listed, "aggregation": aggregation, "bonus_policy": policy}
    bench = await opened(success_criteria=criteria, verification={"max_attempts": 1})
    row = await grade(bench, text)
    assert row.verdict is verdict
    result = (await outcome(bench)).verification_result
    assert result is not None
    assert [each.met for each in result.criterion_results] == [True] * met + [False] * (2 - met)
    assert result.success is (verdict is Verdict.PASSED)
    earned = met if verdict is Verdict.PASSED or policy == "per_criterion" else 0
    assert (result.bonus, result.penalty) == (Decimal("0.05") * earned, Decimal("0.02") * (2 - met))
    assert bench.grader.graded == 1, "the criteria are evaluated whatever the verifier says"


async def test_work_without_criteria_follows_its_verifier() -> None:
    bench = await opened(success_criteria=None)
    await grade(bench, DULL)
    assert await status(bench) is ContractStatus.AWAITING_REVISION
    await grade(bench, GOOD)
    assert (await outcome(bench)).final_status is ContractStatus.PASSED


async def test_custom_code_and_a_verifier_that_both_agree_pass() -> None:
    bench = await opened(
        success_criteria={"criteria": [OWN]},
        evaluation={"custom_metrics": [{"name": "mine", "code": "def evaluate(i, o, m): mine"}]},
    )
    await grade(bench, GOOD)
    record = await outcome(bench)
    assert (record.final_status, str(record.billing_impact.total)) == (ContractStatus.PASSED, "0.15")


async def test_verifier_without_a_result_passes() -> None:
    bench = await opened("nothing")
    await grade(bench, GOOD)
    record = await outcome(bench)
    assert (record.final_status, record.final_result) == (ContractStatus.PASSED, None)


async def test_final_result_is_stored_once_for_its_attempt(bench: VerificationBench) -> None:
    bench.governance.down = lambda: True
    row = await grade(bench, GOOD)
    for _ in range(3):
        await bench.deliver("output.submitted")
    bench.governance.down = lambda: False
    await bench.pass_time(timedelta(minutes=2))
    stored = await FINAL_RESULTS.get(bench.store, key_of(row.attempt_id))
    assert stored is not None
    assert (await outcome(bench)).final_result == stored.record.final_result
    assert len(bench.verifiers.requests) == 1


async def test_released_pass_keeps_its_final_result() -> None:
    bench = await opened(consumer=Party(id="bot"))  # self-dealing
    await grade(bench, GOOD)
    assert await status(bench) is ContractStatus.HELD
    await review(bench, Decision.RELEASE)
    assert (await outcome(bench)).final_result["title"] == "One Two Three"


async def test_work_without_a_verifier_calls_none() -> None:
    bench = await opened(None)
    row = await grade(bench, DULL)
    assert bench.verifiers.requests == []
    record = await outcome(bench)
    assert (record.final_status, record.final_result) == (ContractStatus.PASSED, {"text": DULL})
    assert await FINAL_RESULTS.get(bench.store, key_of(row.attempt_id)) is None

"""What verification counts and times, once for each thing that happened."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import httpx
import pytest

from aex_models.contract import AttemptStatus
from aex_models.governance import Decision, Party, ValidationDecision, ValidationRequest
from aex_outcomes.engine.job import verify_candidate
from aex_runtime.unit_of_work import Committed, UnitOfWork
from aex_verification.clients import HttpGovernance
from aex_verification.handlers.close import cancel_contract
from aex_verification.judge import ConfinedJudge, job_payload
from aex_verification.measures import ATTEMPTS_TOTAL, ExtractionTimes
from aex_verification.ports import GovernanceRefused, GovernanceUnavailable
from aex_verification.rules.policy import Policy
from aex_verification.silence import Silence
from tests.parts.measured import Measured
from tests.parts.verification import NO_KEY, VerificationBench
from tests.services.verification.flow import GOOD, SHORT, judge, opened, post, review
from tests.services.verification.test_judge import WORDS, Noting, request
from tests.services.verification.test_silence import REQUEST, NoTokens

ATTEMPTS, VERDICTS, ENDED = "aex_attempts_total", "aex_verdicts_total", "aex_contracts_ended_total"
TOOK, LAG = ("aex_verification_seconds",), ("aex_verdict_lag_seconds",)
SUSPECT: dict[str, Any] = {"consumer": Party(id="bot")}
"""Consumer and agent are the same: whatever closes is held."""


async def measured_bench(**changes: Any) -> tuple[VerificationBench, Measured]:
    """A bench whose contract is open, measured from then on."""
    bench, measured = await opened(verifier=changes.pop("verifier", None), **changes), Measured()

    def committed(by: Committed) -> None:
        bench.events.extend(by.events)

    unit_of_work = UnitOfWork("verification", bench.store, bench.clock, committed, measured)
    bench.rewire(replace(bench.deps, unit_of_work=unit_of_work))
    return bench, measured


def of(measured: Measured, name: str) -> dict[str, int]:
    """What was counted under a name, by its one label."""
    return {labels[0]: count for (found, *labels), count in measured.counted.items() if found == name}


async def test_a_rejected_and_a_passed_candidate_are_two_attempts_two_verdicts_and_one_end() -> None:
    bench, measured = await measured_bench()
    for output in (SHORT, GOOD):
        await post(bench, output)
        bench.clock.advance(timedelta(seconds=3))
        await bench.deliver("output.submitted")
    assert of(measured, ATTEMPTS) == {"queued": 2, "judged": 2}
    assert of(measured, VERDICTS) == {"rejected": 1, "passed": 1}
    assert of(measured, ENDED) == {"passed": 1}
    assert measured.observed[LAG] == [3.0, 3.0]
    assert len(measured.observed[TOOK]) == 2


async def test_what_is_delivered_again_and_posted_again_is_counted_once() -> None:
    bench, measured = await measured_bench()
    for _ in range(3):
        await judge(bench, GOOD)
        await bench.deliver("output.submitted")
    assert of(measured, ATTEMPTS) == {"queued": 1, "judged": 1}
    assert of(measured, VERDICTS) == {"passed": 1}
    assert of(measured, ENDED) == {"passed": 1}


async def test_an_invalid_output_has_no_verdict() -> None:
    bench, measured = await measured_bench(verifier="summary")
    await judge(bench, {"text": ["no", "text"]})
    assert of(measured, ATTEMPTS) == {"queued": 1, "invalid": 1}
    assert of(measured, VERDICTS) == {}


async def test_failures_of_the_platform_are_told_apart_and_end_in_an_indeterminate_verdict() -> None:
    bench, measured = await measured_bench(policy=Policy(max_system_retries=2))
    bench.judge.failures = 99
    await judge(bench, GOOD)
    await bench.pass_time(timedelta(hours=1))
    assert of(measured, ATTEMPTS) == {"queued": 1, "waiting": 2, "held": 1}
    assert of(measured, VERDICTS) == {"indeterminate": 1}
    assert LAG not in measured.observed


async def test_a_held_outcome_has_its_verdict_and_ends_with_the_decision() -> None:
    bench, measured = await measured_bench(**SUSPECT)
    await judge(bench, GOOD)
    assert of(measured, ATTEMPTS) == {"queued": 1, "judged": 1, "held": 1}
    assert (of(measured, VERDICTS), of(measured, ENDED)) == ({"passed": 1}, {})
    await review(bench, Decision.REJECT)
    assert of(measured, ENDED) == {"failed": 1}


async def test_an_attempt_that_an_operator_has_repeated_tells_no_lag_of_the_first() -> None:
    bench, measured = await measured_bench(**SUSPECT)
    await judge(bench, GOOD)
    bench.clock.advance(timedelta(days=2))
    await review(bench, Decision.RETRY)
    await bench.deliver("output.submitted")
    assert of(measured, VERDICTS) == {"passed": 2}
    assert measured.observed[LAG] == [0.0]


async def test_contracts_that_expire_and_that_are_cancelled_end_too() -> None:
    bench, measured = await measured_bench()
    await bench.award("ctr_2")
    await cancel_contract(bench.deps, "acme", "ctr_2", NO_KEY)
    await bench.pass_time(timedelta(days=60))
    assert of(measured, ENDED) == {"expired": 1, "cancelled": 1}


def test_every_status_that_an_attempt_is_counted_under_is_declared() -> None:
    assert set(ATTEMPTS_TOTAL.labels["status"]) == set(AttemptStatus) - {AttemptStatus.VERIFYING}


@pytest.mark.parametrize(
    ("said", "believed"),
    [
        ({"text_quality": 0.25, "latency": 0.001}, {"text_quality": [0.25], "latency": [0.001]}),
        ({"text_quality": 0.25, "ctr_made_up": 1.0}, {"text_quality": [0.25]}),
        ({"text_quality": float("nan"), "latency": float("inf")}, {}),
        ({"text_quality": 1e300, "latency": -1.0}, {}),
        ({"text_quality": "1", "latency": None}, {}),
        (["text_quality"], {}),
        (None, {}),
    ],
)
async def test_of_what_a_worker_says_of_its_time_only_what_makes_sense_is_believed(
    said: Any, believed: dict[str, list[float]]
) -> None:
    measured = Measured()
    ExtractionTimes(measured, ["text_quality", "latency"]).tell(said)
    assert measured.observed == {("aex_extraction_seconds", name): took for name, took in believed.items()}


async def test_the_time_of_each_extractor_comes_with_the_worker_s_answer() -> None:
    asked = request(WORDS)
    answer = await asyncio.to_thread(verify_candidate, job_payload(asked, {}) | {"config": None})
    measured = Measured()
    times = ExtractionTimes(measured, ["text_quality", "latency"])
    judgement = await ConfinedJudge(Noting(answer), Noting(), {}, 30, 5_000, times).judge(asked)
    assert judgement.result is not None
    ((name, took),) = measured.observed.items()
    assert name == ("aex_extraction_seconds", "text_quality")
    assert 0 < took[0] < 10


@pytest.mark.parametrize(
    ("status", "body", "answer"),
    [
        (200, ValidationDecision(valid=True, action="allow"), "allow"),
        (200, ValidationDecision(valid=False, action="hold"), "hold"),
        (422, None, "refused"),
        (503, None, "unavailable"),
    ],
)
async def test_governance_is_timed_by_what_it_answers(
    status: int, body: ValidationDecision | None, answer: str
) -> None:
    def answered(_: httpx.Request) -> httpx.Response:
        return httpx.Response(status, content=body.model_dump_json() if body else b"{}")

    measured = Measured()
    async with httpx.AsyncClient(transport=httpx.MockTransport(answered)) as client:
        governance = HttpGovernance(client, "http://g", NoTokens(), Silence(5.0, lambda: 0.0), measured)
        await _asked(governance, REQUEST)
    ((name, took),) = measured.observed.items()
    assert name == ("aex_governance_seconds", answer)
    assert 0 <= took[0] < 5


async def _asked(governance: HttpGovernance, request: ValidationRequest) -> None:
    try:
        await governance.validate(request)
    except (GovernanceUnavailable, GovernanceRefused):
        return

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

import httpx
import pytest

from aex_models.contract import AttemptStatus
from aex_models.governance import Decision, Party, ValidationDecision
from aex_outcomes.catalog import Catalog
from aex_outcomes.engine.job import verify_candidate
from aex_runtime.unit_of_work import Committed, UnitOfWork
from aex_verification.grading import ConfinedGrader, make_job_payload
from aex_verification.handlers.close import cancel_contract
from aex_verification.measures import ATTEMPTS_TOTAL, ExtractionTimes
from aex_verification.rules.records import Policy
from tests.parts.measured import RecordedMeasures
from tests.parts.verification import NO_KEY, VerificationBench
from tests.services.verification.flow import GOOD, SHORT, grade, opened, post, review
from tests.services.verification.test_grading import WORDS, Noting, request
from tests.services.verification.test_http_clients import Governance

ATTEMPTS, VERDICTS, ENDED = "aex_attempts_total", "aex_verdicts_total", "aex_contracts_ended_total"
TOOK, LAG = ("aex_verification_seconds",), ("aex_verdict_lag_seconds",)
INVALID = {"text": ["no", "text"]}
SUSPECT: dict[str, Any] = {"consumer": Party(id="bot")}
"""Consumer and agent are the same: whatever closes is held."""


async def measured_bench(**changes: Any) -> tuple[VerificationBench, RecordedMeasures]:
    bench, measured = await opened(verifier=changes.pop("verifier", None), **changes), RecordedMeasures()

    def committed(by: Committed) -> None:
        bench.events.extend(by.events)

    unit_of_work = UnitOfWork("verification", bench.store, bench.clock, committed, measured)
    bench.rewire(replace(bench.deps, unit_of_work=unit_of_work))
    return bench, measured


def of(measured: RecordedMeasures, name: str) -> dict[str, int]:
    return {labels[0]: count for (found, *labels), count in measured.counted.items() if found == name}


async def test_attempts_verdicts_and_ends_are_counted_once() -> None:
    bench, measured = await measured_bench(verifier="summary")
    for output in (INVALID, SHORT, GOOD):
        for _ in range(2):  # a repeat counts nothing
            await post(bench, output)
            bench.clock.advance(timedelta(seconds=3))
            await bench.deliver("output.submitted")
    assert of(measured, ATTEMPTS) == {"queued": 3, "judged": 2, "invalid": 1}
    assert of(measured, VERDICTS) == {"rejected": 1, "passed": 1}
    assert of(measured, ENDED) == {"passed": 1}
    assert measured.observed[LAG] == [3.0, 3.0]
    assert len(measured.observed[TOOK]) == 3


async def test_platform_failures_are_counted_apart() -> None:
    bench, measured = await measured_bench(policy=Policy(max_system_retries=2))
    bench.grader.failures = 99
    await grade(bench, GOOD)
    await bench.pass_time(timedelta(hours=1))
    assert of(measured, ATTEMPTS) == {"queued": 1, "waiting": 2, "held": 1}
    assert of(measured, VERDICTS) == {"indeterminate": 1}
    assert LAG not in measured.observed


async def test_held_outcome_ends_with_the_decision() -> None:
    bench, measured = await measured_bench(**SUSPECT)
    await grade(bench, GOOD)
    assert of(measured, ATTEMPTS) == {"queued": 1, "judged": 1, "held": 1}
    assert (of(measured, VERDICTS), of(measured, ENDED)) == ({"passed": 1}, {})
    await review(bench, Decision.REJECT)
    assert of(measured, ENDED) == {"failed": 1}


async def test_operator_retry_has_no_verdict_lag() -> None:
    bench, measured = await measured_bench(**SUSPECT)
    await grade(bench, GOOD)
    bench.clock.advance(timedelta(days=2))
    await review(bench, Decision.RETRY)
    await bench.deliver("output.submitted")
    assert of(measured, VERDICTS) == {"passed": 2}
    assert measured.observed[LAG] == [0.0]


async def test_expired_and_cancelled_contracts_are_counted() -> None:
    bench, measured = await measured_bench()
    await bench.award("ctr_2")
    await cancel_contract(bench.deps, "acme", "ctr_2", NO_KEY)
    await bench.pass_time(timedelta(days=60))
    assert of(measured, ENDED) == {"expired": 1, "cancelled": 1}


def test_attempt_statuses_are_declared() -> None:
    assert set(ATTEMPTS_TOTAL.labels["status"]) == set(AttemptStatus) - {AttemptStatus.VERIFYING}


@pytest.mark.parametrize(
    ("durations", "believed"),
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
async def test_implausible_extraction_times_are_ignored(durations: Any, believed: dict[str, list[float]]) -> None:
    measured = RecordedMeasures()
    ExtractionTimes(measured, ["text_quality", "latency"]).record_reported_seconds(durations)
    assert measured.observed == {("aex_extraction_seconds", name): took for name, took in believed.items()}


async def test_worker_reports_extraction_times() -> None:
    graded = request(WORDS)
    answer = await asyncio.to_thread(verify_candidate, make_job_payload(graded, {}) | {"config": None})
    measured = RecordedMeasures()
    times = ExtractionTimes(measured, ["text_quality", "latency"])
    grade_result = await ConfinedGrader(Noting(answer), Noting(), Catalog.of(), 30, times).grade(graded)
    assert grade_result.result is not None
    ((name, took),) = measured.observed.items()
    assert name == ("aex_extraction_seconds", "text_quality")
    assert took[0] > 0


@pytest.mark.parametrize(
    ("status", "body", "answer"),
    [
        (200, ValidationDecision(valid=True, action="allow"), "allow"),
        (200, ValidationDecision(valid=False, action="hold"), "hold"),
        (422, None, "refused"),
        (503, None, "unavailable"),
    ],
)
async def test_governance_is_timed_by_its_answer(status: int, body: ValidationDecision | None, answer: str) -> None:
    measured = RecordedMeasures()
    governance = Governance(measured)
    governance.says = httpx.Response(status, content=body.model_dump_json() if body else b"{}")
    assert await governance.makes_a_call()
    ((name, took),) = measured.observed.items()
    assert name == ("aex_governance_seconds", answer)
    assert took[0] >= 0

import asyncio
import json
from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs

from aex_models.canonical import canonical_bytes
from aex_models.events import Event, WorkSubmitted
from aex_models.work import EvaluationRef, LintWarning, Problem
from aex_runtime.records import Poison, RetryLater
from aex_verification.fair_slots import FairSlots
from aex_verification.ports import TrialBroken
from aex_verification.rules.checks import TrialFindings
from aex_verification.slow_jobs import SlowJobs
from tests.libs.runtime.http.sample import until
from tests.parts.verification import VerificationBench, make_event

CODE = "def evaluate(input, output, metadata):\n    return len(output['text']) / canary_code"
CUSTOM = {"reference": "canary reference", "custom_metrics": [{"name": "mine", "code": CODE}]}
CRITERION = {"metric": "word_count", "metric_type": "count", "comparison": "gte", "threshold": 3}
SLOW = Problem(path="/evaluation/custom_metrics/0/code", code="custom_metric_timeout", message="it took too long")
WARNING = LintWarning(
    path="/evaluation/custom_metrics/0/code", code="custom_metric_exception", message="KeyError", suggestion="look"
)


async def submitted(bench: VerificationBench, evaluation: Any = CUSTOM, **changes: Any) -> Event:
    blob = {
        "salt": "0" * 64,
        "evaluation": evaluation,
        "input": {"text": "open"},
        "success_criteria": {"criteria": [CRITERION]},
    }
    stored = await bench.blobs.put("evaluation", canonical_bytes(blob | changes))
    data = WorkSubmitted(
        work_id="work_1",
        has_cpa=True,
        consumer_id="acme",
        domain="general",
        evaluation=EvaluationRef(digest=stored.digest, size=stored.size),
        custom_metrics=bool(evaluation and evaluation.get("custom_metrics")),
    )
    return make_event("work.submitted", "work_1", data)


async def submit(bench: VerificationBench, evaluation: Any = CUSTOM, **changes: Any) -> None:
    await bench.handlers["work.submitted"](await submitted(bench, evaluation, **changes))


def checked(bench: VerificationBench) -> dict[str, Any]:
    [event] = bench.emitted("work.checked")
    return dict(event.data)


@pytest.fixture
def bench() -> VerificationBench:
    return VerificationBench()


async def test_trial_receives_input_criteria_and_evaluation_data(bench: VerificationBench) -> None:
    await submit(bench)
    assert checked(bench) == {"work_id": "work_1", "ok": True, "problems": [], "warnings": []}
    [request] = bench.trials.requests
    assert (request.consumer_id, request.work_input) == ("acme", {"text": "open"})
    assert request.success_criteria is not None
    assert request.success_criteria.criteria[0].metric == "word_count"
    assert request.evaluation.custom_metrics[0].code == CODE


async def test_problem_refuses_the_work_and_warning_does_not(bench: VerificationBench) -> None:
    bench.trials.found = TrialFindings(problems=(SLOW,), warnings=(WARNING,))
    await submit(bench)
    reported = checked(bench)
    assert not reported["ok"]
    assert (reported["problems"], reported["warnings"]) == ([SLOW.model_dump()], [WARNING.model_dump()])
    other = VerificationBench()
    other.trials.found = TrialFindings(warnings=(WARNING,))
    await submit(other)
    assert checked(other)["ok"]


async def test_repeated_and_concurrent_events_publish_the_first_findings(bench: VerificationBench) -> None:
    event = await submitted(bench)
    await asyncio.gather(*(bench.handlers["work.submitted"](event) for _ in range(2)))
    trials = len(bench.trials.requests)
    bench.trials.found = TrialFindings(problems=(SLOW,))
    await submit(bench)
    assert len({(each.id, str(each.data)) for each in bench.emitted("work.checked")}) == 1
    assert (len(bench.trials.requests), bench.events[-1].data["problems"]) == (trials, [])


async def test_missing_sandbox_delays_the_work_without_limit(bench: VerificationBench) -> None:
    bench.trials.down = lambda: True
    await submit(bench)
    await bench.pass_time(timedelta(hours=1))
    assert bench.emitted("work.checked") == []
    bench.trials.down = lambda: False
    await bench.pass_time(timedelta(minutes=2))
    assert checked(bench)["ok"]
    assert (len(bench.trials.requests), await bench.timers()) == (1, [])


@pytest.mark.parametrize(
    ("lost", "outage", "codes"),
    [(2, False, []), (2, True, []), (3, False, ["custom_code_unrunnable"])],
    ids=["some workers", "some workers and an outage", "all workers"],
)
async def test_code_that_crashes_every_worker_is_refused(
    bench: VerificationBench, lost: int, outage: bool, codes: list[str]
) -> None:
    bench.trials.lost = lost
    await submit(bench)
    if outage:
        bench.trials.down = lambda: True
        await bench.pass_time(timedelta(hours=1))
        bench.trials.down = lambda: False
    await bench.pass_time(timedelta(minutes=10))
    assert [each["code"] for each in checked(bench)["problems"]] == codes


async def test_works_without_secrets_need_no_trial(bench: VerificationBench) -> None:
    data = WorkSubmitted(work_id="work_1", has_cpa=True, consumer_id="acme", domain="general")
    await bench.handlers["work.submitted"](make_event("work.submitted", "work_1", data))
    await submit(bench, {"required_keywords": ["a"]})
    await submit(bench, {"reference": "a"}, success_criteria=None)
    assert (bench.trials.requests, bench.events) == ([], [])


async def test_reference_that_fails_the_criteria_is_a_warning(bench: VerificationBench) -> None:
    await submit(bench, {"reference": "a b c"})
    assert (len(bench.trials.requests), bench.events) == (1, [])
    bench.trials.found = TrialFindings(warnings=(WARNING,))
    await submit(bench, {"reference": "a b c"})
    assert checked(bench) == {"work_id": "work_1", "ok": True, "problems": [], "warnings": [WARNING.model_dump()]}


async def test_failed_reference_trial_delays_nothing(bench: VerificationBench) -> None:
    bench.trials.lost = 3
    await submit(bench, {"reference": "a b c"})
    await bench.pass_time(timedelta(minutes=5))
    assert bench.events == []
    assert len(bench.trials.requests) == 3


async def test_missing_evaluation_data_are_retried(bench: VerificationBench) -> None:
    event = await submitted(VerificationBench())
    with pytest.raises(RetryLater):
        await bench.handlers["work.submitted"](event)


async def test_unreadable_evaluation_data_are_dead_lettered_unquoted(bench: VerificationBench) -> None:
    with pytest.raises(Poison) as refused:
        await submit(bench, {"canary": 1})
    assert "canary" not in str(refused.value)


@pytest.mark.parametrize("max_waiting", [0, 64])
async def test_trial_takes_a_slow_slot_or_waits_for_one(bench: VerificationBench, max_waiting: int) -> None:
    slots = FairSlots(1, max_waiting)
    bench.rewire(replace(bench.deps, slow_jobs=SlowJobs(slots)))
    with ExitStack() as slot:
        assert slots.try_acquire("globex", slot)
        await submit(bench)
        assert (bench.trials.requests, bench.events) == ([], [])
        if max_waiting:
            await bench.pass_time(timedelta(minutes=5))  # its timer finds it waiting
    bench.trials.down = lambda: slots.in_use != 1
    if max_waiting:
        await until(lambda: bool(bench.events))
        assert await bench.timers() == []
    await bench.pass_time(timedelta(minutes=2))
    assert (len(bench.trials.requests), slots.in_use, checked(bench)["ok"]) == (1, 0, True)


async def test_broken_trial_refuses_no_work(bench: VerificationBench) -> None:
    def breaks() -> bool:
        raise TrialBroken("KeyError")

    bench.trials.down = breaks
    with pytest.raises(TrialBroken):
        await submit(bench)
    assert bench.events == []


async def test_events_logs_and_timers_hold_no_code_or_evaluation_data(bench: VerificationBench) -> None:
    bench.trials.down = lambda: True
    with capture_logs() as logs:
        await submit(bench)
        [timer] = await bench.timers()
        bench.trials.down = lambda: False
        bench.trials.found = TrialFindings(problems=(SLOW,), warnings=(WARNING,))
        await bench.pass_time(timedelta(minutes=1))
    reported = json.dumps([logs, timer.model_dump(mode="json"), checked(bench)], default=str)
    assert logs
    assert "canary" not in reported
    assert "def evaluate" not in reported

"""A submitted work's custom code is tried before anybody can be paid by it."""

import asyncio
import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs

from aex_models.canonical import canonical_bytes
from aex_models.events import Event, WorkSubmitted
from aex_models.work import EvaluationRef, LintWarning, Problem
from aex_runtime.handlers import Poison, RetryLater
from aex_verification.ports import TrialBroken, TrialRequest
from aex_verification.rules.checks import Findings
from aex_verification.turnstile import Turnstile
from tests.parts.verification import VerificationBench, event_of

CODE = "def evaluate(input, output, metadata):\n    return len(output['text']) / canary_code"
CUSTOM = {"reference": "canary reference", "custom_metrics": [{"name": "mine", "code": CODE}]}
CRITERION = {"metric": "word_count", "metric_type": "count", "comparison": "gte", "threshold": 3}
SLOW = Problem(path="/evaluation/custom_metrics/0/code", code="custom_metric_timeout", message="it took too long")
ODD = LintWarning(
    path="/evaluation/custom_metrics/0/code", code="custom_metric_exception", message="KeyError", suggestion="look"
)


async def submitted(bench: VerificationBench, evaluation: Any = CUSTOM, **changes: Any) -> Event:
    """The event of a work whose evaluation data are stored."""
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
    return event_of("work.submitted", "work_1", data)


async def submit(bench: VerificationBench, evaluation: Any = CUSTOM, **changes: Any) -> None:
    await bench.handlers["work.submitted"](await submitted(bench, evaluation, **changes))


def checked(bench: VerificationBench) -> dict[str, Any]:
    [event] = bench.emitted("work.checked")
    return dict(event.data)


@pytest.fixture
def bench() -> VerificationBench:
    return VerificationBench()


async def test_sound_code_opens_its_work(bench: VerificationBench) -> None:
    await submit(bench)
    assert checked(bench) == {"work_id": "work_1", "ok": True, "problems": [], "warnings": []}


async def test_the_trial_is_given_input_criteria_and_evaluation_data(bench: VerificationBench) -> None:
    await submit(bench)
    [asked] = bench.trials.asked
    assert (asked.consumer_id, asked.work_input) == ("acme", {"text": "open"})
    assert asked.success_criteria is not None
    assert asked.success_criteria.criteria[0].metric == "word_count"
    assert asked.evaluation.custom_metrics[0].code == CODE


async def test_a_problem_refuses_the_work_and_a_warning_does_not(bench: VerificationBench) -> None:
    bench.trials.found = Findings(problems=(SLOW,), warnings=(ODD,))
    await submit(bench)
    told = checked(bench)
    assert not told["ok"]
    assert (told["problems"], told["warnings"]) == ([SLOW.model_dump()], [ODD.model_dump()])
    other = VerificationBench()
    other.trials.found = Findings(warnings=(ODD,))
    await submit(other)
    assert checked(other)["ok"]


async def test_a_repeat_tells_the_first_answer_again_under_the_same_id_and_tries_nothing(
    bench: VerificationBench,
) -> None:
    await submit(bench)
    bench.trials.found = Findings(problems=(SLOW,))
    await submit(bench)
    first, again = bench.emitted("work.checked")
    assert (first.id, first.data) == (again.id, again.data)
    assert len(bench.trials.asked) == 1


async def test_of_two_trials_at_once_the_first_that_ends_decides(bench: VerificationBench) -> None:
    event = await submitted(bench)
    await asyncio.gather(*(bench.handlers["work.submitted"](event) for _ in range(2)))
    assert len({(each.id, str(each.data)) for each in bench.emitted("work.checked")}) == 1


async def test_while_the_sandbox_is_away_the_work_waits_without_limit(bench: VerificationBench) -> None:
    bench.trials.down = lambda: True
    await submit(bench)
    await bench.pass_time(timedelta(days=3))
    assert bench.emitted("work.checked") == []
    bench.trials.down = lambda: False
    await bench.pass_time(timedelta(minutes=2))
    assert checked(bench)["ok"]
    await bench.pass_time(timedelta(days=1))
    assert len(bench.trials.asked) == 1, "the timer is done with"


async def test_a_worker_that_dies_once_is_not_the_codes_fault(bench: VerificationBench) -> None:
    bench.trials.lost = 2
    await submit(bench)
    await bench.pass_time(timedelta(minutes=5))
    assert checked(bench)["ok"]


async def test_code_that_takes_every_worker_down_is_refused(bench: VerificationBench) -> None:
    bench.trials.lost = 3
    await submit(bench)
    await bench.pass_time(timedelta(minutes=5))
    assert [each["code"] for each in checked(bench)["problems"]] == ["custom_code_unrunnable"]


async def test_an_outage_between_lost_workers_counts_for_nothing(bench: VerificationBench) -> None:
    bench.trials.lost = 2
    await submit(bench)
    bench.trials.down = lambda: True
    await bench.pass_time(timedelta(hours=1))
    bench.trials.down = lambda: False
    await bench.pass_time(timedelta(minutes=10))
    assert checked(bench)["ok"]


async def test_works_without_secrets_need_no_trial(bench: VerificationBench) -> None:
    data = WorkSubmitted(work_id="work_1", has_cpa=True, consumer_id="acme", domain="general")
    await bench.handlers["work.submitted"](event_of("work.submitted", "work_1", data))
    await submit(bench, {"required_keywords": ["a"]})
    await submit(bench, {"reference": "a"}, success_criteria=None)
    assert (bench.trials.asked, bench.events) == ([], [])


async def test_a_reference_is_held_against_the_criteria_and_told_of_where_it_fails_them(
    bench: VerificationBench,
) -> None:
    await submit(bench, {"reference": "a b c"})
    assert (len(bench.trials.asked), bench.events) == (1, [])
    bench.trials.found = Findings(warnings=(ODD,))
    await submit(bench, {"reference": "a b c"})
    assert checked(bench) == {"work_id": "work_1", "ok": True, "problems": [], "warnings": [ODD.model_dump()]}


async def test_a_reference_that_cannot_be_tried_holds_nothing_up(bench: VerificationBench) -> None:
    bench.trials.lost = 3
    await submit(bench, {"reference": "a b c"})
    await bench.pass_time(timedelta(minutes=5))
    assert bench.events == []
    assert len(bench.trials.asked) == 3


async def test_evaluation_data_that_are_not_there_are_looked_for_again(bench: VerificationBench) -> None:
    event = await submitted(VerificationBench())
    with pytest.raises(RetryLater):
        await bench.handlers["work.submitted"](event)


async def test_evaluation_data_that_are_none_go_to_the_dead_letters_unquoted(bench: VerificationBench) -> None:
    with pytest.raises(Poison) as refused:
        await submit(bench, {"canary": 1})
    assert "canary" not in str(refused.value)


class TrialsThatHang:
    """Dry runs that do not end."""

    async def dry_run(self, request: TrialRequest) -> Findings:
        await asyncio.sleep(3_600)
        raise AssertionError(request)


async def test_works_under_trial_leave_room_for_other_events(bench: VerificationBench) -> None:
    bench.rewire(replace(bench.deps, trials=TrialsThatHang(), slow_places=Turnstile(1, 1)))
    event = await submitted(bench)
    hanging = asyncio.ensure_future(bench.handlers["work.submitted"](event))
    await asyncio.sleep(0.05)
    async with asyncio.timeout(5):
        await bench.handlers["work.submitted"](event)
    hanging.cancel()
    assert bench.events == []


class TrialsThatAreBroken:
    """Dry runs with a mistake in them."""

    async def dry_run(self, request: TrialRequest) -> Findings:
        raise TrialBroken(type(request).__name__)


async def test_a_mistake_of_ours_is_not_taken_for_the_codes(bench: VerificationBench) -> None:
    bench.rewire(replace(bench.deps, trials=TrialsThatAreBroken()))
    with pytest.raises(TrialBroken):
        await submit(bench)
    assert bench.events == []


async def test_neither_events_nor_logs_nor_timers_tell_code_or_evaluation_data(bench: VerificationBench) -> None:
    bench.trials.down = lambda: True
    with capture_logs() as logs:
        await submit(bench)
        [timer] = await bench.timers()
        bench.trials.down = lambda: False
        bench.trials.found = Findings(problems=(SLOW,), warnings=(ODD,))
        await bench.pass_time(timedelta(minutes=1))
    told = json.dumps([logs, timer.model_dump(mode="json"), checked(bench)], default=str)
    assert logs
    assert "canary" not in told
    assert "def evaluate" not in told

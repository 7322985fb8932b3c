from contextlib import ExitStack
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from aex_models.canonical import canonical_bytes
from aex_models.events import WorkSubmitted
from aex_models.work import EvaluationRef
from aex_verification.fair_slots import FairSlots
from aex_verification.handlers.check_work import run_work_trial_and_publish_findings
from aex_verification.rules.checks import MAX_LOST, PendingCheck
from aex_verification.slow_jobs import SlowJobs
from tests.libs.outcomes.science.conditions import TWO
from tests.libs.runtime.http.sample import until
from tests.parts.verification import VerificationBench
from tests.services.verification.examined import DMS, MEAN, TABLE, science

OTHER = {"name": "mean_of_other", "stat": "mean", "column": "other"}


async def submit(bench: VerificationBench, content: bytes | None, *statistics: Any, **changes: Any) -> None:
    stored = await bench.blobs.put("data", content) if content is not None else None
    data = [{"name": "own.csv", "sha256": stored.digest if stored else "0" * 64}]
    blob = {"salt": "0" * 64, "science": science(data=data, statistics=statistics or [MEAN, OTHER]), **changes}
    secrets = await bench.blobs.put("evaluation", canonical_bytes(blob))
    ref = EvaluationRef(digest=secrets.digest, size=secrets.size)
    submitted = WorkSubmitted(work_id="work_1", has_cpa=True, consumer_id="acme", domain=DMS, evaluation=ref)
    await run_work_trial_and_publish_findings(bench.deps, PendingCheck(submitted=submitted))


@pytest.fixture
def bench() -> VerificationBench:
    return VerificationBench()


async def test_statistic_without_columns_is_warned_of_with_its_pointer(bench: VerificationBench) -> None:
    await submit(bench, TABLE.encode())
    [reported] = bench.emitted("work.checked")
    assert (reported.data["ok"], reported.data["problems"]) == (True, [])
    [warning] = reported.data["warnings"]
    assert (warning["path"], warning["code"]) == ("/science/statistics/1", "own_data_alone")
    assert "other" in warning["message"]
    assert "agents' files" in warning["message"]


async def test_partly_served_statistic_is_warned_of(bench: VerificationBench) -> None:
    half = {**OTHER, "where": [{"column": "mut_score", "op": "gt", "value": 0}]}
    await submit(bench, TABLE.encode(), half)
    [warning] = bench.emitted("work.checked")[0].data["warnings"]
    assert (warning["path"], warning["code"]) == ("/science/statistics/0", "column_missing")
    assert "no candidate has a verdict" in warning["suggestion"]


async def test_data_without_the_domains_columns_are_warned_of(bench: VerificationBench) -> None:
    warned = []
    for content in (b"word\nw\n", b"depth\n3\n", TABLE.encode()):
        bench = VerificationBench()
        stored = await bench.blobs.put("data", content)
        data = [{"name": "own.csv", "sha256": stored.digest}]
        await submit(bench, content, science=science(data=data, statistics=[]))
        warned.append([each["code"] for event in bench.emitted("work.checked") for each in event.data["warnings"]])
    assert warned == [["nothing_to_recompute"], ["recipes_not_served"], []]


async def test_statistic_over_two_conditions_is_warned_of_without_a_cell(bench: VerificationBench) -> None:
    await submit(bench, TWO.replace(",A,", ",canary,").encode(), MEAN)
    [warning] = bench.emitted("work.checked")[0].data["warnings"]
    assert (warning["path"], warning["code"]) == ("/science/statistics/0", "mixed_groups")
    assert '"condition"' in warning["message"]
    assert "canary" not in str(warning)


async def test_complete_data_give_no_warning(bench: VerificationBench) -> None:
    await submit(bench, b"mut_score,other\n-0.1,1\n-0.2,2\n")
    assert bench.events == []
    assert bench.examiner.requests[-1].queue == "trials of acme"
    assert bench.trials.requests == []


async def test_unreadable_data_are_warned_of_per_file_or_statistic(bench: VerificationBench) -> None:
    await submit(bench, b"PK\x03\x04 an archive")
    [reported] = bench.emitted("work.checked")
    assert {each["code"] for each in reported.data["warnings"]} == {"not_csv"}


async def test_failed_data_trial_is_retried_then_skipped(bench: VerificationBench) -> None:
    bench.examiner.breaks = lambda: True
    await submit(bench, TABLE.encode())
    await bench.pass_time(timedelta(hours=1))
    assert len(bench.examiner.requests) == MAX_LOST
    assert bench.events == []
    lost = VerificationBench()
    await submit(lost, None)
    await lost.pass_time(timedelta(hours=1))
    assert lost.events == []


async def test_reference_and_data_are_both_tried(bench: VerificationBench) -> None:
    criterion = {"metric": "word_count", "metric_type": "count", "comparison": "gte", "threshold": 3}
    changes = {"evaluation": {"reference": "a b"}, "success_criteria": {"criteria": [criterion]}}
    await submit(bench, TABLE.encode(), **changes)
    assert (len(bench.trials.requests), len(bench.examiner.requests)) == (1, 1)


async def test_trial_that_waited_and_found_nothing_leaves_no_timer(bench: VerificationBench) -> None:
    slots = FairSlots(1, 64)
    bench.rewire(replace(bench.deps, slow_jobs=SlowJobs(slots)))
    with ExitStack() as slot:
        assert slots.try_acquire("globex", slot)
        await submit(bench, TABLE.encode(), MEAN)
        assert [timer.kind for timer in await bench.timers()] == ["check"]
    await until(lambda: "work_1" not in bench.deps.slow_jobs)
    assert (len(bench.examiner.requests), slots.in_use, bench.events, await bench.timers()) == (1, 0, [], [])

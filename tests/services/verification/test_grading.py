from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from aex_models.contract import ExecutionMetadata
from aex_models.criteria import SuccessCriteria
from aex_models.evaluation import Evaluation
from aex_outcomes.catalog import Catalog
from aex_outcomes.config import parse_config
from aex_outcomes.confinement.settings import JobCrashed, JobFailed, JobTimeout, PoolBusy
from aex_outcomes.engine.verification import VerificationEngine
from aex_outcomes.sandbox.port import CodeFault, Context, FaultKind, Limits, Returned, SandboxUnavailable
from aex_verification.grading import ConfinedGrader, make_group_payload
from aex_verification.pools import make_candidate_pool
from aex_verification.ports import GradeRequest, TrialBroken, TrialLost, TrialRequest, TrialUnavailable
from aex_verification.rules.checks import TrialFindings
from aex_verification.rules.records import GovernanceFacts
from aex_verification.settings import Settings

CATALOG = Catalog.of()
CODE = {"name": "mine", "code": "def evaluate(i, o, m): return 1"}
WORDS = {"metric": "word_count", "metric_type": "count", "comparison": "gte", "threshold": 3}
OWN = {"metric": "custom.mine", "metric_type": "custom", "comparison": "gte", "threshold": 3}


class Noting:
    """Pool that records its jobs, and answers or raises."""

    def __init__(self, outcome: Any = None) -> None:
        self.outcome = {} if outcome is None else outcome
        self.jobs: list[tuple[str, dict[str, Any], float | None, str]] = []
        self.reports = 0

    async def run(
        self, job: str, payload: dict[str, Any], timeout_s: float | None = None, *, queue: str = ""
    ) -> dict[str, Any]:
        self.jobs.append((job, payload, timeout_s, queue))
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return dict(self.outcome)

    def mark_unhealthy(self) -> None:
        self.reports += 1


def request(*criteria: dict[str, Any], evaluation: dict[str, Any] | None = None) -> GradeRequest:
    return GradeRequest(
        contract_id="ctr_1",
        attempt_id="att_1",
        consumer_id="acme",
        success_criteria=SuccessCriteria.model_validate({"criteria": criteria}),
        work_input={},
        evaluation=Evaluation.model_validate(evaluation) if evaluation else None,
        output={"text": "a b c"},
        execution_metadata=ExecutionMetadata(),
        platform_latency_ms=1.0,
    )


def trial(evaluation: dict[str, Any]) -> TrialRequest:
    return TrialRequest("acme", None, {"text": "x"}, Evaluation.model_validate(evaluation))


async def test_slow_metrics_alone_run_in_the_sandbox() -> None:
    pool, sandbox = Noting(), Noting()
    grader = ConfinedGrader(pool, sandbox, CATALOG, 30)
    await grader.grade(request(WORDS))
    await grader.grade(request(WORDS, evaluation={"custom_metrics": [CODE]}))
    assert (len(pool.jobs), len(sandbox.jobs)) == (2, 0)
    await grader.grade(request(WORDS, OWN, OWN | {"threshold": 4}, evaluation={"custom_metrics": [CODE]}))
    [(_, payload, timeout_s, queue)] = sandbox.jobs
    assert payload["evaluation"]["custom_metrics"] == [CODE]
    assert (timeout_s, queue) == (30 + 5, "acme")


async def test_time_of_all_slow_metrics_is_bounded() -> None:
    sandbox = Noting()
    names = [f"m{at}" for at in range(15)]
    catalog = Catalog.of(parse_config({"extractors": {"custom": {"sandbox": {"timeout_ms": 60_000}}}}))
    graded = request(
        *(OWN | {"metric": f"custom.{name}"} for name in names),
        evaluation={"custom_metrics": [CODE | {"name": name} for name in names]},
    )
    await ConfinedGrader(Noting(), sandbox, catalog, 30).grade(graded)
    assert [timeout_s for _, _, timeout_s, _ in sandbox.jobs] == [30 + 600]


@pytest.mark.parametrize(
    ("outcome", "error"),
    [
        (SandboxUnavailable("off"), "SandboxUnavailable"),
        (JobTimeout("late"), "JobTimeout"),
        ({"result": {"verdict": "canary"}}, "UnreadableAnswer (ValidationError)"),
    ],
)
async def test_sandbox_failure_is_the_platforms(outcome: Any, error: str) -> None:
    grader = ConfinedGrader(Noting(), Noting(outcome), CATALOG, 30)
    grade_result = await grader.grade(request(OWN, evaluation={"custom_metrics": [CODE]}))
    assert (grade_result.result, grade_result.error) == (None, error)


class FailingSandbox:
    def __init__(self, error: Exception) -> None:
        self.error = error

    async def execute(self, code: str, context: Context, limits: Limits) -> Returned:
        del code, context, limits
        raise self.error


@pytest.mark.parametrize(
    ("error", "reports"),
    [(SandboxUnavailable("no interpreter"), 1), (CodeFault(FaultKind.EXCEPTION, "sandbox_unavailable"), 0)],
)
async def test_result_without_a_sandbox_marks_it_unhealthy(error: Exception, reports: int) -> None:
    evaluation = {"custom_metrics": [CODE]}
    found = await VerificationEngine(None, sandbox=FailingSandbox(error)).verify(
        contract_id="ctr_1",
        work_input={},
        work_output={"text": "a"},
        success_criteria={"criteria": [OWN]},
        evaluation=evaluation,
    )
    sandbox = Noting({"result": found.model_dump(mode="json")} | GovernanceFacts().model_dump(mode="json"))
    grade_result = await ConfinedGrader(Noting(), sandbox, CATALOG, 30).grade(request(OWN, evaluation=evaluation))
    assert grade_result.result == found
    assert sandbox.reports == reports


async def test_code_is_tried_in_the_sandbox_and_a_reference_outside() -> None:
    pool, sandbox = Noting({"warning": None}), Noting({"problems": [], "warnings": []})
    trials = ConfinedGrader(pool, sandbox, CATALOG, 30)
    assert await trials.dry_run(trial({"reference": "r"})) == TrialFindings()
    assert (len(pool.jobs), len(sandbox.jobs)) == (1, 0)
    pool.outcome = {"warning": {"code": "c", "path": "/p", "message": "m", "suggestion": "s"}}
    assert [each.code for each in (await trials.dry_run(trial({"reference": "r"}))).warnings] == ["c"]
    await trials.dry_run(trial({"reference": "r", "custom_metrics": [CODE]}))
    [(job, payload, timeout_s, _)] = sandbox.jobs
    assert job == "aex_outcomes.sandbox.dry_run:dry_run"
    assert payload == {
        "custom_metrics": [CODE],
        "input": {"text": "x"},
        "evaluation": {"reference": "r", "named": {}},
        "success_criteria": None,
        "config": {},
    }
    assert timeout_s == 30 + 3 * 5


@pytest.mark.parametrize(
    ("outcome", "error"),
    [
        (SandboxUnavailable("off"), TrialUnavailable),
        (PoolBusy("full"), TrialUnavailable),
        (JobTimeout("late"), TrialLost),
        (JobFailed("KeyError", "canary"), TrialBroken),
        ({"problems": "canary", "warnings": []}, TrialLost),
    ],
)
async def test_failed_trial_names_the_fault_and_quotes_nothing(outcome: Any, error: type[Exception]) -> None:
    trials = ConfinedGrader(Noting(), Noting(outcome), CATALOG, 30)
    with pytest.raises(error) as raised:
        await trials.dry_run(trial({"custom_metrics": [CODE]}))
    assert "canary" not in str(raised.value)


def texts(*outputs: str, evaluations: Sequence[Evaluation | None] = ()) -> list[GradeRequest]:
    first = request(WORDS)
    own = evaluations or [None] * len(outputs)
    return [
        replace(first, output={"text": text}, evaluation=evaluation, attempt_id=f"att_{number}")
        for number, (text, evaluation) in enumerate(zip(outputs, own, strict=True))
    ]


async def test_candidates_graded_together_get_the_results_that_each_gets_alone() -> None:
    requests = texts("a b c", "a")
    async with make_candidate_pool(Settings(workers=1)) as pool:
        grader = ConfinedGrader(pool, Noting(), CATALOG, 30)
        together = await grader.grade_together(requests)
        alone = [await grader.grade(each) for each in requests]
    assert together is not None
    for one, other in zip(together, alone, strict=True):
        assert one.result is not None
        assert other.result is not None
        assert one.result.model_copy(update={"verified_at": other.result.verified_at}) == other.result


def test_only_differing_evaluation_data_are_sent_with_each_candidate() -> None:
    shared, own = Evaluation.model_validate({"reference": "a"}), Evaluation.model_validate({"reference": "b"})
    payload = make_group_payload(texts("x", "y", "z", evaluations=[shared, shared, own]), {})
    assert payload["evaluation"]["reference"] == "a"
    assert [each.get("evaluation", {}).get("reference") for each in payload["candidates"]] == [None, None, "b"]


@pytest.mark.parametrize(
    "outcome",
    [
        JobTimeout("late"),
        JobCrashed("dead"),
        JobFailed("KeyError", "x"),
        PoolBusy("full"),
        {"results": []},
        {"results": [{"verdict": "canary"}, {}]},
        {},
    ],
)
async def test_failed_job_of_several_candidates_gives_no_grades(outcome: Any) -> None:
    assert await ConfinedGrader(Noting(outcome), Noting(), CATALOG, 30).grade_together(texts("a", "b")) is None


async def test_candidates_with_custom_code_are_not_graded_together() -> None:
    own = request(OWN, evaluation={"custom_metrics": [CODE]})
    assert await ConfinedGrader(Noting(), Noting(), CATALOG, 30).grade_together([own, own]) is None

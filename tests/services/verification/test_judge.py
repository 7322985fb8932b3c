"""Which pool a candidate is judged in, how long it may take, and what becomes of a worker's end."""

from typing import Any

import pytest

from aex_models.contract import ExecutionMetadata
from aex_models.criteria import SuccessCriteria
from aex_models.work import Evaluation
from aex_outcomes.confinement.errors import JobFailed, JobTimeout, PoolBusy
from aex_outcomes.engine.verification import VerificationEngine
from aex_outcomes.sandbox.port import CodeFault, Context, FaultKind, Limits, Returned, SandboxUnavailable
from aex_verification.judge import ConfinedJudge
from aex_verification.ports import JudgeRequest, TrialBroken, TrialLost, TrialRequest, TrialUnavailable
from aex_verification.rules.checks import Findings
from aex_verification.rules.records import Facts
from aex_verification.trials import ConfinedTrials

CODE = {"name": "mine", "code": "def evaluate(i, o, m): return 1"}
WORDS = {"metric": "word_count", "metric_type": "count", "comparison": "gte", "threshold": 3}
MINE = {"metric": "custom.mine", "metric_type": "custom", "comparison": "gte", "threshold": 3}


class Noting:
    """A pool that notes what it was asked, and answers or raises."""

    def __init__(self, outcome: Any = None) -> None:
        self.outcome = {} if outcome is None else outcome
        self.asked: list[tuple[str, dict[str, Any], float | None, str]] = []
        self.doubts = 0

    async def run(
        self, job: str, payload: dict[str, Any], timeout_s: float | None = None, *, lane: str = ""
    ) -> dict[str, Any]:
        self.asked.append((job, payload, timeout_s, lane))
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return dict(self.outcome)

    def doubt(self) -> None:
        self.doubts += 1


def request(*criteria: dict[str, Any], evaluation: dict[str, Any] | None = None) -> JudgeRequest:
    return JudgeRequest(
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


async def test_only_what_runs_custom_code_goes_to_the_sandbox() -> None:
    pool, sandbox = Noting(), Noting()
    judge = ConfinedJudge(pool, sandbox, {}, 30, 5_000)
    await judge.judge(request(WORDS))
    await judge.judge(request(WORDS, evaluation={"custom_metrics": [CODE]}))
    assert (len(pool.asked), len(sandbox.asked)) == (2, 0)
    await judge.judge(request(WORDS, MINE, MINE | {"threshold": 4}, evaluation={"custom_metrics": [CODE]}))
    [(_, payload, timeout_s, lane)] = sandbox.asked
    assert payload["evaluation"]["custom_metrics"] == [CODE]
    assert (timeout_s, lane) == (30 + 2 * 5, "acme")


async def test_however_long_custom_code_may_take_its_job_is_bounded() -> None:
    sandbox = Noting()
    await ConfinedJudge(Noting(), sandbox, {}, 30, 600_000).judge(
        request(*[MINE | {"threshold": n} for n in range(10)], evaluation={"custom_metrics": [CODE]})
    )
    assert sandbox.asked[0][2] == 630


@pytest.mark.parametrize(
    ("outcome", "error"),
    [
        (SandboxUnavailable("off"), "SandboxUnavailable"),
        (JobTimeout("late"), "JobTimeout"),
        ({"result": {"verdict": "canary"}}, "UnreadableAnswer (ValidationError)"),
    ],
)
async def test_what_happens_to_the_sandbox_is_the_platforms_failure(outcome: Any, error: str) -> None:
    judge = ConfinedJudge(Noting(), Noting(outcome), {}, 30, 5_000)
    judgement = await judge.judge(request(MINE, evaluation={"custom_metrics": [CODE]}))
    assert (judgement.result, judgement.error) == (None, error)


class Without:
    """A sandbox in which nothing can be run."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    async def execute(self, code: str, context: Context, limits: Limits) -> Returned:
        del code, context, limits
        raise self.error


@pytest.mark.parametrize(
    ("error", "doubts"),
    [(SandboxUnavailable("no interpreter"), 1), (CodeFault(FaultKind.EXCEPTION, "sandbox_unavailable"), 0)],
)
async def test_a_result_that_misses_the_sandbox_makes_it_be_tested_again(error: Exception, doubts: int) -> None:
    evaluation = {"custom_metrics": [CODE]}
    found = await VerificationEngine(None, sandbox=Without(error)).verify(
        contract_id="ctr_1",
        work_input={},
        work_output={"text": "a"},
        success_criteria={"criteria": [MINE]},
        evaluation=evaluation,
    )
    sandbox = Noting({"result": found.model_dump(mode="json")} | Facts().model_dump(mode="json"))
    judgement = await ConfinedJudge(Noting(), sandbox, {}, 30, 5_000).judge(request(MINE, evaluation=evaluation))
    assert judgement.result == found
    assert sandbox.doubts == doubts


async def test_code_is_tried_in_the_sandbox_and_a_reference_alone_is_not() -> None:
    pool, sandbox = Noting({"warning": None}), Noting({"problems": [], "warnings": []})
    trials = ConfinedTrials(pool, sandbox, {}, 30, 5_000)
    assert await trials.dry_run(trial({"reference": "r"})) == Findings()
    assert (len(pool.asked), len(sandbox.asked)) == (1, 0)
    pool.outcome = {"warning": {"code": "c", "path": "/p", "message": "m", "suggestion": "s"}}
    assert [each.code for each in (await trials.dry_run(trial({"reference": "r"}))).warnings] == ["c"]
    await trials.dry_run(trial({"reference": "r", "custom_metrics": [CODE]}))
    [(job, payload, timeout_s, _)] = sandbox.asked
    assert job == "aex_outcomes.sandbox.dry_run:dry_run"
    assert payload == {
        "custom_metrics": [CODE],
        "input": {"text": "x"},
        "evaluation": {"reference": "r"},
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
        ({"problems": []}, TrialLost),
        ({"problems": [{"path": "", "code": "x", "message": "canary" * 1_000}], "warnings": []}, TrialLost),
        ({"problems": [{"path": "", "code": "x", "message": "m"}] * 1_000, "warnings": []}, TrialLost),
    ],
)
async def test_the_end_of_a_trial_says_whose_fault_it_is_and_quotes_nothing(
    outcome: Any, error: type[Exception]
) -> None:
    trials = ConfinedTrials(Noting(), Noting(outcome), {}, 30, 5_000)
    with pytest.raises(error) as raised:
        await trials.dry_run(trial({"custom_metrics": [CODE]}))
    assert "canary" not in str(raised.value)

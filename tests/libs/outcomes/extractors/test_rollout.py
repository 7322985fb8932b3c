import time
from typing import Any

import pytest

from aex_models.criteria import SuccessCriteria
from aex_models.results import Verdict
from aex_outcomes import AgentFault, RolloutExtractor, VerificationEngine, lint
from tests.libs.outcomes.rollout_samples import a_rollout, a_step, an_episode


async def extracted(output: Any, pointer: str = "/rollout") -> dict[str, Any]:
    return await RolloutExtractor(pointer).extract({}, output, {})


GOOD = a_rollout(an_episode(0.5, 0.25), an_episode(1.0))
FIGURES = {
    "mean_return": 0.875,
    "episode_return_min": 0.75,
    "episode_return_max": 1.0,
    "num_steps": 3,
    "num_episodes": 2,
    "rollout_consistent": True,
}


async def test_rollout_is_the_output_or_lies_at_the_configured_pointer() -> None:
    for output in (GOOD, {"rollout": GOOD}, {"text": "done", "rollout": GOOD, "metrics": 5}):
        assert await extracted(output) == FIGURES
    assert await extracted({"runs": [GOOD]}, "/runs/0") == FIGURES


@pytest.mark.parametrize("output", [{}, {"text": "metrics"}, "text", None, 5, [GOOD]])
async def test_an_output_without_a_rollout_has_no_such_metrics(output: Any) -> None:
    assert await extracted(output) == {}


async def test_the_recomputed_figures_come_before_the_claimed_ones() -> None:
    lie = a_rollout(
        *GOOD["trajectories"], mean_return=11.17, episode_returns=[11.0, 11.34], num_steps=99, num_episodes=7
    )
    assert await extracted(lie) == FIGURES | {"rollout_consistent": False}


async def test_without_steps_claims_are_used_without_consistency() -> None:
    bare = a_rollout(episode_returns=[0.0, 2.0], mean_return=1.5, num_steps=12)
    assert await extracted(bare) == {
        "mean_return": 1.5, "episode_return_min": 0.0, "episode_return_max": 2.0, "num_steps": 12, "num_episodes": 2,
    }  # fmt: skip
    assert (await extracted(a_rollout(num_episodes=3)))["num_episodes"] == 3
    assert await extracted(a_rollout()) == {"mean_return": 0.0, "num_steps": 0, "num_episodes": 0}


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ({"rollout": None}, "/rollout: Input should be a valid dictionary"),
        ({"metrics": {}}, "/run_id: Field required"),
        ({"rollout": GOOD | {"metrics": {"mean_return": True}}}, "/rollout/metrics/episode_returns: Field required"),
        (a_rollout(an_episode(), mean_return="0.5"), "/metrics/mean_return: Input should be a valid number"),
        (a_rollout(an_episode(steps=[a_step(), {}])), "/trajectories/0/steps/1/obs: Field required"),
    ],
)
async def test_another_shape_is_the_agents_error_with_its_path(output: Any, message: str) -> None:
    with pytest.raises(AgentFault) as fault:
        await extracted(output)
    assert fault.value.code == "invalid_rollout"
    assert fault.value.message.startswith(message)


async def test_long_rollout_and_old_payload_are_read() -> None:
    old = a_rollout(an_episode(1.0))
    del old["metrics"]["mean_return"]
    with pytest.raises(AgentFault, match="/metrics/mean_return: Field required"):
        await extracted(old)
    began = time.process_time()
    found = await extracted(a_rollout(an_episode(*[0.5] * 50_000)))
    assert (found["num_steps"], found["rollout_consistent"]) == (50_000, True)
    with pytest.raises(AgentFault, match="steps/0/obs"):
        await extracted(a_rollout(an_episode(steps=[{}] * 50_000)))
    assert time.process_time() - began < 5


async def test_criteria_name_them_and_the_linter_warns_where_money_rests_on_them() -> None:
    criteria = SuccessCriteria.model_validate(
        {
            "criteria": [
                {"metric": "mean_return", "metric_type": "numeric", "comparison": "gte", "threshold": 0.5, "bonus": 1},
                {"metric": "rollout_consistent", "metric_type": "boolean", "comparison": "eq", "threshold": True},
            ]
        }
    )
    engine = VerificationEngine()

    async def verdict(output: Any) -> tuple[Verdict, list[bool]]:
        found = await engine.verify(
            contract_id="ctr_1", work_input={}, work_output=output, success_criteria=criteria, execution_metadata={}
        )
        return found.verdict, [each.met for each in found.criterion_results]

    assert await verdict({"rollout": GOOD}) == (Verdict.PASSED, [True, True])
    assert await verdict(a_rollout(episode_returns=[1.0], mean_return=1.0)) == (Verdict.REJECTED, [True, False])
    assert await verdict({"rollout": []}) == (Verdict.REJECTED, [False, False])
    assert "self_reported" in {warning.code for warning in lint(criteria)}

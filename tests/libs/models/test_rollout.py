"""Rollouts: what is required, what may be left out, and what is no number."""

import math
from typing import Any

import pytest
from pydantic import ValidationError

from aex_models import RolloutResponse
from aex_models.rollout import parse_correlation_id

EPISODE: dict[str, Any] = {
    "env_id": "maze",
    "policy_id": "bot",
    "inference_url": "https://inference.example/v1?cid=trace_1",
    "steps": [{"obs": {}, "action": {}, "reward": 1.0, "done": True, "info": {"seen": 1}}],
    "length": 1,
}
METRICS: dict[str, Any] = {"episode_returns": [1.0], "mean_return": 1.0, "num_steps": 1}
ROLLOUT: dict[str, Any] = {"run_id": "run_1", "trajectories": [EPISODE], "metrics": METRICS}


def with_episode(**fields: Any) -> dict[str, Any]:
    return ROLLOUT | {"trajectories": [EPISODE | fields]}


def with_step(**fields: Any) -> dict[str, Any]:
    return with_episode(steps=[{"obs": {}, "action": {}} | fields])


def with_metrics(**fields: Any) -> dict[str, Any]:
    return ROLLOUT | {"metrics": METRICS | fields}


def without(complete: dict[str, Any], name: str) -> dict[str, Any]:
    return {key: value for key, value in complete.items() if key != name}


@pytest.mark.parametrize(
    "payload",
    [
        ROLLOUT,
        ROLLOUT | {"trajectories": []},
        with_episode(steps=[], length=0),
        with_episode(steps=[], length=7),
        with_step(),
        with_step(obs="text", action=[1, 2]),
        with_step(obs=None, action=None),
        with_step(reward=None, done=None, info=None),
        with_step(reward=-2),
        with_metrics(episode_returns=[], num_episodes=0, events_score=0.5, details={"correct": True}),
        with_metrics(num_episodes=None, events_score=None, details=None, outcome_score=None),
        with_metrics(outcome_score=0.5),
    ],
)
def test_optional_fields_may_be_empty_or_absent(payload: dict[str, Any]) -> None:
    assert RolloutResponse.model_validate(payload).run_id == "run_1"


@pytest.mark.parametrize(
    ("payload", "position"),
    [
        *((without(ROLLOUT, name), (name,)) for name in ROLLOUT),
        *((ROLLOUT | {"trajectories": [without(EPISODE, name)]}, ("trajectories", 0, name)) for name in EPISODE),
        *((ROLLOUT | {"metrics": without(METRICS, name)}, ("metrics", name)) for name in METRICS),
        (with_episode(steps=[{"action": {}}]), ("trajectories", 0, "steps", 0, "obs")),
        (with_episode(steps=[{"obs": {}}]), ("trajectories", 0, "steps", 0, "action")),
    ],
)
def test_missing_required_fields_are_named(payload: dict[str, Any], position: tuple[str | int, ...]) -> None:
    with pytest.raises(ValidationError) as refused:
        RolloutResponse.model_validate(payload)
    assert [(each["type"], each["loc"]) for each in refused.value.errors()] == [("missing", position)]


def test_value_other_than_a_finite_number_is_refused() -> None:
    no_numbers: tuple[Any, ...] = (True, False, "1.0", math.nan, math.inf, -math.inf, 10**400, [1.0], {})
    for value in no_numbers:
        for payload in (
            with_step(reward=value),
            with_metrics(episode_returns=[value]),
            *(with_metrics(**{name: value}) for name in ("mean_return", "events_score", "outcome_score", "num_steps")),
            with_episode(length=value),
        ):
            with pytest.raises(ValidationError):
                RolloutResponse.model_validate(payload)
    no_counts: tuple[Any, ...] = (-1, 1.0, 1.5, "1", True)
    for value in no_counts:
        for payload in (with_metrics(num_steps=value), with_metrics(num_episodes=value), with_episode(length=value)):
            with pytest.raises(ValidationError):
                RolloutResponse.model_validate(payload)


def test_unknown_fields_are_kept() -> None:
    payload = with_step(tool_calls=["look"]) | {"trace": {"span": 1}}
    read = RolloutResponse.model_validate(payload)
    assert read.model_dump(exclude_unset=True, mode="json") == payload


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("https://host/v1?cid=trace_1", "trace_1"),
        ("http://localhost:8000/?a=b&cid=x%20y#here", "x y"),
        ("aex://contracts/ctr_1?cid=ctr_1", "ctr_1"),
        ("https://host/v1", None),
        ("https://host/v1?cid=", None),
        ("https://host/v1#?cid=trace_1", None),
        ("?cid=trace_1", None),
        ("https://[half/?cid=1", None),
        ("", None),
    ],
)
def test_inference_url_has_a_correlation_id(url: str, found: str | None) -> None:
    assert parse_correlation_id(url) == found
    if found is not None:
        RolloutResponse.model_validate(with_episode(inference_url=url))
        return
    with pytest.raises(ValidationError, match=r"Expected a URL with a correlation id, such as https://…\?cid=ID"):
        RolloutResponse.model_validate(with_episode(inference_url=url))

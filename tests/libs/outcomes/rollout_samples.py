"""Rollouts as agents hand them in."""

from typing import Any


def a_step(reward: float | None = None, **more: Any) -> dict[str, Any]:
    return {"obs": {}, "action": {}, **({} if reward is None else {"reward": reward}), **more}


def an_episode(*rewards: float | None, **more: Any) -> dict[str, Any]:
    return {
        "env_id": "maze",
        "policy_id": "bot",
        "inference_url": "https://inference.example/v1?cid=trace_1",
        "steps": [a_step(each) for each in rewards],
        "length": len(rewards),
        **more,
    }


def a_rollout(*episodes: dict[str, Any], **metrics: Any) -> dict[str, Any]:
    """A rollout of these episodes, whose figures are right unless they are given."""
    returns = [sum(step.get("reward", 0.0) for step in each["steps"]) for each in episodes]
    feedback = {
        "episode_returns": returns,
        "mean_return": sum(returns) / len(returns) if returns else 0.0,
        "num_steps": sum(each["length"] for each in episodes),
        **metrics,
    }
    return {"run_id": "run_1", "trajectories": list(episodes), "metrics": feedback}

"""An outcome as a rollout that a trainer reads as it is: one episode, one step an attempt, one reward."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode, urlsplit, urlunsplit

from aex_models.numbers import is_number
from aex_models.rollout import RolloutMetrics, RolloutResponse, RolloutStep, RolloutTrajectory, correlation_id

_MAX_URL = 2_048
_TOLD = ("contract_id", "work_id", "final_status", "attempts_used", "created_at")


def rollout_of(outcome: Mapping[str, Any]) -> RolloutResponse | None:
    """The rollout of an outcome record, as its reader may see it; None where that tells no score.

    No score is told where nothing was judged, and to an agent whose work tells it nothing: unknown is not 0.
    The steps tell what the record knows of the attempts: how many there were. The reward, the final weighted score,
    belongs to the contract, and stands on the last of them alone.
    """
    result = outcome.get("verification_result") or {}
    score: Any = result.get("weighted_score")
    if not is_number(score):
        return None
    attempts = max(1, outcome["attempts_used"])  # what was judged was attempted, counted or not
    return RolloutResponse(
        run_id=outcome["id"],
        trajectories=(
            RolloutTrajectory(
                env_id=outcome["domain"],
                policy_id=outcome["agent_id"],
                inference_url=_inference_url(outcome),
                steps=tuple(_step(number, attempts, score) for number in range(1, attempts + 1)),
                length=attempts,
            ),
        ),
        metrics=RolloutMetrics(
            episode_returns=(score,),
            mean_return=score,
            num_steps=attempts,
            num_episodes=1,
            details={name: outcome[name] for name in _TOLD} | {name: result[name] for name in ("verdict", "success")},
        ),
    )


def _step(number: int, attempts: int, score: float) -> RolloutStep:
    last = number == attempts
    return RolloutStep(obs={"attempt": number}, action={}, reward=score if last else None, done=last)


def _inference_url(outcome: Mapping[str, Any]) -> str:
    """The agent's own where it names a web address, else the contract's; with the contract's id where it lacks one."""
    contract_id = outcome["contract_id"]
    named = outcome.get("execution_metadata", {}).get("inference_url")
    if isinstance(named, str) and _is_web_address(named):
        return named if correlation_id(named) is not None else _correlated(named, contract_id)
    return f"aex://contracts/{quote(contract_id, safe='')}?{urlencode({'cid': contract_id})}"


def _is_web_address(text: str) -> bool:
    if len(text) > _MAX_URL or not text.isascii() or not text.isprintable() or " " in text:
        return False
    try:
        parts = urlsplit(text)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and "@" not in parts.netloc
    except ValueError:
        return False


def _correlated(url: str, contract_id: str) -> str:
    """With `cid` behind whatever its query has already, and before its fragment."""
    parts = urlsplit(url)
    query = "&".join(filter(None, (parts.query, urlencode({"cid": contract_id}))))
    return urlunsplit(parts._replace(query=query))

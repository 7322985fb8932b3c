"""A named verifier as a job of a confined worker: JSON in, a ruling as JSON out. The candidate is hostile."""

import json
import traceback
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from aex_models.contract import Candidate
from aex_outcomes.clock import WallClock
from aex_outcomes.config import parse_config
from aex_outcomes.lifecycle.context import AgentContext, ExecutionContext
from aex_outcomes.lifecycle.registry import load_verifier
from aex_outcomes.lifecycle.ruling_json import ruling_json
from aex_outcomes.lifecycle.verifier import CheckedVerifier

_OURS = str(Path(__file__).parent)
"""Where the frames of the lifecycle's own code are, which tell an operator nothing."""


async def run_verifier(payload: dict[str, Any]) -> dict[str, Any]:
    """Have one candidate judged by the verifier that the operator registered under `name`.

    `payload`: `name`, `config` (or null: the mapping of an `outcome-verification.yaml`), `candidate`, `agent_ctx`, and
    `execution_ctx` (or null): `contract_id`, `work_id`, `agent_id`, `attempt_id` and `deadline` (RFC 3339).
    Returns a `Ruling` as `RULING` reads it. Each job has an event loop of its own: a verifier that keeps an
    asynchronous client keeps it for one job alone.
    Raises `VerifierRaised` for what the verifier raises (a system error), `FinalResultRefused`, `UnknownVerifier` and
    `InvalidConfig`.
    """
    name = payload["name"]
    verifier = _verifier(json.dumps(payload.get("config"), sort_keys=True), name)
    candidate = Candidate.model_validate(payload["candidate"])
    agent_ctx = AgentContext.model_validate(payload["agent_ctx"])
    execution_ctx = _execution(payload.get("execution_ctx"))
    try:
        ruling = await verifier.rule(candidate, agent_ctx, execution_ctx)
    except MemoryError:
        raise  # the worker's own business
    except Exception as error:
        raise VerifierRaised(error) from error
    return ruling_json(ruling, name)


class VerifierRaised(Exception):
    """A verifier failed. The text says what kind of error it was and where, and nothing that may quote a candidate."""

    def __init__(self, error: Exception) -> None:
        frames = traceback.extract_tb(error.__traceback__)
        own = [each for each in frames if not each.filename.startswith(_OURS)] or frames
        place = f"{own[-1].filename}:{own[-1].lineno} in {own[-1].name}" if own else "an unknown place"
        super().__init__(f"{type(error).__name__} at {place}")


@lru_cache(maxsize=32)
def _verifier(config: str, name: str) -> CheckedVerifier:
    """Loaded once in a worker, and it alone: another one that cannot be loaded here is no concern of its works."""
    return load_verifier(parse_config(json.loads(config)), name).verifier


def _execution(given: Mapping[str, Any] | None) -> ExecutionContext | None:
    if given is None:
        return None
    return ExecutionContext(
        contract_id=given["contract_id"],
        work_id=given["work_id"],
        agent_id=given["agent_id"],
        attempt_id=given["attempt_id"],
        deadline=datetime.fromisoformat(given["deadline"]),
        clock=WallClock(),
    )

"""A named verifier as a job of a confined worker: JSON in, a ruling as JSON out. The candidate is hostile."""

import asyncio
import json
import sysconfig
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
from aex_outcomes.lifecycle.ruling_json import FinalResultRefused, ruling_json
from aex_outcomes.lifecycle.verifier import CheckedVerifier

_OURS = str(Path(__file__).parent)
"""Where the frames of the lifecycle's own code are, which tell an operator nothing."""
_LIBRARIES = tuple(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib"))
_FAREWELL_S = 0.1
"""What tasks that a verifier has left behind are given to end, once they are cancelled."""


async def run_verifier(payload: dict[str, Any]) -> dict[str, Any]:
    """Have one candidate judged by the verifier that the operator registered under `name`.

    `payload`: `name`, `config` (or null: the mapping of an `outcome-verification.yaml`), `candidate`, `agent_ctx`, and
    `execution_ctx` (or null): `contract_id`, `work_id`, `agent_id`, `attempt_id` and `deadline` (RFC 3339).
    Returns a `Ruling` as `RULING` reads it. Each job has an event loop of its own: a verifier that keeps an
    asynchronous client keeps it for one job alone. Tasks that it leaves behind are cancelled, and one that will not end
    is abandoned; a thread that it leaves to the loop's executor is waited for, at the cost of its time limit.
    Raises `VerifierRaised` for what the verifier raises (a system error), `FinalResultRefused`, `UnknownVerifier` and
    `InvalidConfig`.
    """
    name = payload["name"]
    verifier = _verifier(json.dumps(payload.get("config"), sort_keys=True), name)
    candidate = Candidate.model_validate(payload["candidate"])
    agent_ctx = AgentContext.model_validate(payload["agent_ctx"])
    execution_ctx = _execution(payload.get("execution_ctx"))
    before = asyncio.all_tasks()
    try:
        return ruling_json(await verifier.rule(candidate, agent_ctx, execution_ctx), name)
    except (MemoryError, FinalResultRefused):
        raise  # the worker's own business; an error that names the verifier itself
    except Exception as error:
        raise VerifierRaised(error) from error
    finally:
        await _abandon(asyncio.all_tasks() - before)


async def _abandon(tasks: set[asyncio.Task[Any]]) -> None:
    """End tasks, within bounds: `asyncio.run` would wait for one that swallows its cancellation until time is up."""
    for task in tasks:
        task.cancel()
    if tasks:
        _, left = await asyncio.wait(tasks, timeout=_FAREWELL_S)
        for task in left:
            asyncio.tasks._unregister_task(task)  # documented, for those who extend asyncio


class VerifierRaised(Exception):
    """A verifier failed. The text says what kind of error it was and where, and nothing that may quote a candidate."""

    def __init__(self, error: Exception) -> None:
        frames = traceback.extract_tb(error.__traceback__)
        beyond = [each for each in frames if not each.filename.startswith(_OURS)]
        own = [each for each in beyond if not each.filename.startswith(_LIBRARIES)] or beyond or frames
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

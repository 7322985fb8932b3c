"""Job that runs a registered verifier in a confined worker; payload and ruling are JSON values."""

import asyncio
import json
import sysconfig
import traceback
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from aex_models.clock import WallClock
from aex_models.contract import Candidate
from aex_outcomes.config import parse_config
from aex_outcomes.lifecycle.context import AgentContext, ExecutionContext
from aex_outcomes.lifecycle.registry import load_verifier
from aex_outcomes.lifecycle.ruling import FinalResultRefused, serialize_ruling
from aex_outcomes.lifecycle.verifier import CheckedVerifier

_OWN_FOLDER = str(Path(__file__).parent)
"""Folder of this package's own frames, which do not help an operator to find an error."""
_LIBRARIES = tuple(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib"))
_CANCEL_S = 0.1
"""Seconds that a verifier's remaining tasks have to end after their cancellation."""


async def run_verifier(payload: dict[str, Any]) -> dict[str, Any]:
    """Verify one candidate by a registered verifier, and return the `Ruling` as JSON that `RULING` parses.

    `payload`: `name` of the verifier, `config` (the mapping of an `outcome-verification.yaml` or null), `candidate`,
    `agent_ctx`, and `execution_ctx` or null. The last has `contract_id`, `work_id`, `agent_id`, `attempt_id` and
    `deadline` (RFC 3339).

    Each job has its own event loop, so that an asynchronous client lasts for one job. Tasks that the verifier leaves
    are cancelled; those that ignore this are abandoned. Threads of the loop's executor are awaited.

    Raises `VerifierRaised` for any exception of the verifier that is no verdict, `FinalResultRefused`,
    `UnknownVerifier` and `InvalidConfig`.
    """
    name = payload["name"]
    verifier = _verifier(json.dumps(payload.get("config"), sort_keys=True), name)
    candidate = Candidate.model_validate(payload["candidate"])
    agent_ctx = AgentContext.model_validate(payload["agent_ctx"])
    execution_ctx = _execution(payload.get("execution_ctx"))
    before = asyncio.all_tasks()
    try:
        return serialize_ruling(await verifier.decide_ruling(candidate, agent_ctx, execution_ctx), name)
    except (MemoryError, FinalResultRefused):
        raise  # the first is the worker's; the second names the verifier itself
    except Exception as error:
        raise VerifierRaised(error) from error
    finally:
        await _abandon(asyncio.all_tasks() - before)


async def _abandon(tasks: set[asyncio.Task[Any]]) -> None:
    """Cancel tasks, and unregister those that ignore it: `asyncio.run` would wait for them without limit."""
    for task in tasks:
        task.cancel()
    if tasks:
        _, remaining = await asyncio.wait(tasks, timeout=_CANCEL_S)
        for task in remaining:
            asyncio.tasks._unregister_task(task)  # documented for extensions of asyncio


class VerifierRaised(Exception):
    """Error of a verifier that failed, with type and location of the cause; it quotes no candidate."""

    def __init__(self, error: Exception) -> None:
        frames = traceback.extract_tb(error.__traceback__)
        outer_frames = [each for each in frames if not each.filename.startswith(_OWN_FOLDER)]
        own = [each for each in outer_frames if not each.filename.startswith(_LIBRARIES)] or outer_frames or frames
        location = f"{own[-1].filename}:{own[-1].lineno} in {own[-1].name}" if own else "an unknown location"
        super().__init__(f"{type(error).__name__} at {location}")


@lru_cache(maxsize=32)
def _verifier(config: str, name: str) -> CheckedVerifier:
    """Return a verifier, loaded on its first use without the others, which may be broken."""
    return load_verifier(parse_config(json.loads(config)), name).verifier


def _execution(given: Mapping[str, Any] | None) -> ExecutionContext | None:
    if given is None:
        return None
    ids = {name: given[name] for name in ("contract_id", "work_id", "agent_id", "attempt_id")}
    return ExecutionContext(**ids, deadline=datetime.fromisoformat(given["deadline"]), clock=WallClock())

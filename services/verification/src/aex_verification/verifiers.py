"""Rulings of named verifiers, from a pool of confined workers of their own: never on the event loop.

They are the operator's code, and trusted; what they are given is hostile, and so may be whatever comes back.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

from pydantic_core import from_json

from aex_models.canonical import canonical_bytes
from aex_outcomes.confinement.errors import ConfinementError, JobFailed
from aex_outcomes.lifecycle.output_type import MAX_PROBLEMS
from aex_outcomes.lifecycle.ruling import RULING, Accepted, Invalid, Ruling
from aex_outcomes.lifecycle.ruling_json import MAX_CODE, MAX_MESSAGE
from aex_outcomes.lifecycle.verifier_job import VerifierRaised
from aex_runtime.telemetry import step
from aex_runtime.tracing.subjects import about
from aex_verification.judge import Runner
from aex_verification.ports import VerifierLost, VerifierRequest

_MAX_TOLD = 500
JOB = "aex_outcomes.lifecycle.verifier_job:run_verifier"


class ConfinedVerifiers:
    """Sends each candidate to a worker; one lane for each consumer, so that nobody's flood starves the others.

    `timeouts_ms`: what each registered verifier may take. `pool` is None where none is registered.
    """

    def __init__(self, pool: Runner | None, timeouts_ms: Mapping[str, int], config: dict[str, Any]) -> None:
        self._pool, self._timeouts_ms, self._config = pool, timeouts_ms, config

    async def rule(self, request: VerifierRequest) -> Ruling:
        """What the verifier says of the candidate. Raises `VerifierLost`."""
        if self._pool is None or request.name not in self._timeouts_ms:
            raise VerifierLost("UnknownVerifier")  # it was there when the work was submitted
        timeout_s = self._timeouts_ms[request.name] / 1_000
        payload = verifier_payload(request, self._config)
        try:
            with step("run verifier", about(request.contract_id, request.attempt_id)):
                answer = await self._pool.run(JOB, payload, timeout_s, lane=request.consumer_id)
        except JobFailed as error:
            raise VerifierLost(_told(error)) from None
        except ConfinementError as error:
            raise VerifierLost(type(error).__name__) from None
        return await _ruling(answer)


def verifier_payload(request: VerifierRequest, config: dict[str, Any]) -> dict[str, Any]:
    """What the worker is sent, as JSON. The output goes as it is: there may be megabytes of it to copy."""
    output = {"output": request.candidate.output}
    return {
        "name": request.name,
        "config": config,
        "candidate": request.candidate.model_dump(mode="json", exclude={"output"}) | output,
        "agent_ctx": request.agent.model_dump(mode="json", exclude={"output"}) | output,
        "execution_ctx": {
            "contract_id": request.contract_id,
            "work_id": request.work_id,
            "agent_id": request.agent_id,
            "attempt_id": request.attempt_id,
            "deadline": request.deadline.isoformat(),
        },
    }


def _told(error: JobFailed) -> str:
    """An exception's kind, and where it was raised; any other text may quote the candidate."""
    return error.message[:_MAX_TOLD] if error.kind == VerifierRaised.__name__ else error.kind


async def _ruling(answer: dict[str, Any]) -> Ruling:
    try:
        ruling = RULING.validate_python(answer)
        if isinstance(ruling, Accepted):
            await asyncio.to_thread(_stored_and_read, ruling.final_result)
    except ValueError as error:
        raise VerifierLost(f"UnreadableAnswer ({type(error).__name__})") from None
    if not _is_bounded(ruling):
        raise VerifierLost("UnreadableAnswer (too long)")
    return ruling


def _stored_and_read(final_result: Any) -> None:
    """Raises `ValueError` for what could not be stored, or not be read again (nested too deeply): no contract may get
    stuck on it."""
    from_json(canonical_bytes({"final_result": final_result}))


def _is_bounded(ruling: Ruling) -> bool:
    """Whether an honest worker wrote it: it bounds what it writes."""
    if isinstance(ruling, Accepted):
        return True
    if isinstance(ruling, Invalid):
        texts = [text for each in ruling.errors for text in (each.path, each.code, each.message)]
        return 1 <= len(ruling.errors) <= MAX_PROBLEMS and max(map(len, texts)) <= MAX_MESSAGE
    return len(ruling.rejection.message) <= MAX_MESSAGE and len(ruling.rejection.code) <= MAX_CODE

"""Rulings of named verifiers, which run in a pool of confined workers of their own.

Verifiers are the operator's trusted code. Their input is hostile, and so their answer may be too.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

from pydantic_core import from_json

from aex_models.canonical import canonical_bytes
from aex_outcomes.confinement.settings import ConfinementError, JobFailed
from aex_outcomes.lifecycle.output_type import MAX_PROBLEMS
from aex_outcomes.lifecycle.ruling import MAX_CODE, MAX_MESSAGE, RULING, Accepted, Invalid, Ruling
from aex_outcomes.lifecycle.verifier_job import VerifierRaised
from aex_runtime.telemetry import trace_step
from aex_runtime.tracing.spans import build_span_attributes_of_ids
from aex_verification.ports import JobRunner, VerifierLost, VerifierRequest

_MAX_ERROR = 500
JOB = "aex_outcomes.lifecycle.verifier_job:run_verifier"


class ConfinedVerifiers:
    """Runner of named verifiers in confined workers, with one queue per consumer.

    `timeouts_ms` has the time limit of each registered verifier. `pool` is None if none is registered.
    """

    def __init__(self, pool: JobRunner | None, timeouts_ms: Mapping[str, int], config: dict[str, Any]) -> None:
        self._pool, self._timeouts_ms, self._config = pool, timeouts_ms, config

    async def rule(self, request: VerifierRequest) -> Ruling:
        """Return the verifier's ruling on the candidate. Raises `VerifierLost`."""
        if self._pool is None or request.name not in self._timeouts_ms:
            raise VerifierLost("UnknownVerifier")  # it was there when the work was submitted
        timeout_s = self._timeouts_ms[request.name] / 1_000
        payload = _make_payload(request, self._config)
        try:
            with trace_step("run verifier", build_span_attributes_of_ids(request.contract_id, request.attempt_id)):
                answer = await self._pool.run(JOB, payload, timeout_s, queue=request.consumer_id)
        except JobFailed as error:  # its text, other than where the verifier raised, may quote the candidate
            is_safe = error.kind == VerifierRaised.__name__
            raise VerifierLost(error.message[:_MAX_ERROR] if is_safe else error.kind) from None
        except ConfinementError as error:
            raise VerifierLost(type(error).__name__) from None
        return await _read_ruling(answer)


def _make_payload(request: VerifierRequest, config: dict[str, Any]) -> dict[str, Any]:
    output = {"output": request.candidate.output}
    # The output is not copied: it may have megabytes.
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


async def _read_ruling(answer: dict[str, Any]) -> Ruling:
    try:
        ruling = RULING.validate_python(answer)
        if isinstance(ruling, Accepted):
            await asyncio.to_thread(_require_storable, ruling.final_result)
    except ValueError as error:
        raise VerifierLost(f"UnreadableAnswer ({type(error).__name__})") from None
    if not _is_bounded(ruling):
        raise VerifierLost("UnreadableAnswer (too long)")
    return ruling


def _require_storable(final_result: Any) -> None:
    """Raise `ValueError` for a value that the store cannot write or read, such as deep nesting."""
    from_json(canonical_bytes({"final_result": final_result}))


def _is_bounded(ruling: Ruling) -> bool:
    """Return whether number and length of texts are within the limits that an honest worker keeps."""
    if isinstance(ruling, Accepted):
        return True
    if isinstance(ruling, Invalid):
        texts = [text for each in ruling.errors for text in (each.path, each.code, each.message)]
        return 1 <= len(ruling.errors) <= MAX_PROBLEMS and max(map(len, texts)) <= MAX_MESSAGE
    return len(ruling.rejection.message) <= MAX_MESSAGE and len(ruling.rejection.code) <= MAX_CODE

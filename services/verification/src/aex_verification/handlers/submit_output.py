"""A candidate comes in: replays are answered from what is stored, a new one is queued for verification."""

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

from aex_models.canonical import NotCanonical
from aex_models.contract import AttemptStatus, Candidate
from aex_models.events import OutputSubmitted
from aex_models.governance import Party
from aex_models.work import Problem
from aex_outcomes.claim_texts import texts_to_keep
from aex_outcomes.lifecycle.hashing import candidate_hash, output_hash
from aex_outcomes.lifecycle.transitions import Refused, known_attempt, received
from aex_runtime.errors import Conflict, InvalidRequest, NotFound
from aex_runtime.http.idempotency import Effect, IdempotentRequest, run_idempotent
from aex_runtime.long_values import in_a_thread_if_long
from aex_runtime.store.keys import key_of
from aex_runtime.telemetry import as_asked_or_in_trace_of, describe_span
from aex_runtime.tracing.subjects import about
from aex_runtime.unit_of_work import Unit
from aex_verification.deps import Deps
from aex_verification.handlers.admit import contract_row
from aex_verification.handlers.artifacts import record_uses, uploaded_for
from aex_verification.handlers.close import expire_contract
from aex_verification.handlers.save_contract import save_contract
from aex_verification.handlers.timers import VERIFY
from aex_verification.measures import ATTEMPTS_TOTAL
from aex_verification.repository import ATTEMPTS, CANDIDATES, CONTRACTS
from aex_verification.rules.canonical import not_canonical
from aex_verification.rules.claims import refuse_too_many
from aex_verification.rules.records import AttemptRow

RETRY_AFTER_S = 2
AFTER_INVALID = 10.0
"""What a candidate after an invalid one takes from the allowance of replays: a worker runs for it."""
MAX_SIDE_BYTES = 65_536
"""Of metadata and of claims, each: governance is told all of them, and its requests are bounded too."""


async def submit_output(
    deps: Deps, agent: Party, contract_id: str, candidate: Candidate, request: IdempotentRequest
) -> tuple[Effect, bool]:
    """Take a candidate in. Answers the effect on the attempt, and whether the candidate was known already.

    Raises `Conflict` while another candidate is under way or once the contract is closed, `InvalidRequest` for
    artifacts that the agent did not upload, for what I-JSON cannot hold, and for metadata or claims beyond
    `MAX_SIDE_BYTES`, `RateLimited` for candidates of one contract that are repeated too often, or follow invalid ones
    too fast. (A repeat under the same idempotency key is none of those.)
    """
    row = await contract_row(deps, contract_id)
    if row.agent_id != agent.id:
        raise NotFound("contract_not_found", "No such contract")
    uploads = await uploaded_for(deps, agent.id, candidate)
    whole, output = await _hashes(candidate)
    attempt_id = deps.ids.new("att")
    known = charged = False

    async def take_in(unit: Unit) -> str:
        nonlocal known, charged
        stored = await unit.get(CONTRACTS, key_of(contract_id))
        if stored is None:
            raise NotFound("contract_not_found", "No such contract")
        state = stored.record.state
        earlier = known_attempt(state, whole)
        if earlier is not None:
            if not known:  # this may run again
                deps.replays.take(contract_id, deps.clock.now())
            known = True
            return earlier
        known = False
        taken = received(state, attempt_id, whole, unit.now)
        if state.last_invalid is not None and not charged:
            # An invalid output uses no attempt: without a bound an agent could have the verifier run for ever.
            deps.replays.take(contract_id, deps.clock.now(), AFTER_INVALID)
            charged = True
        save_contract(unit, stored, taken)
        await unit.create_large(CANDIDATES, key_of(attempt_id), candidate)
        attempt = AttemptRow(
            attempt_id=attempt_id,
            contract_id=contract_id,
            candidate_key=key_of(attempt_id),
            candidate_hash=whole,
            output_hash=output,
            agent_org=agent.org,
            claim_texts=texts_to_keep(candidate.claimed_values),
            status=AttemptStatus.QUEUED,
            platform_latency_ms=taken.agent_ms,
            received_at=unit.now,
        )
        unit.create(ATTEMPTS, key_of(attempt_id), attempt)
        record_uses(unit, stored.record, attempt_id, uploads)
        enqueue(unit, deps, contract_id, attempt_id)
        return attempt_id

    with as_asked_or_in_trace_of(row.traceparent, "submit output", about(contract_id)):
        try:
            effect = await run_idempotent(deps.unit_of_work, request, take_in)
            describe_span(about(effect.resource_id))
        except Refused as refusal:
            if refusal.code == "deadline_passed":
                await expire_contract(deps, contract_id)
            retry_after_s = RETRY_AFTER_S if refusal.retry else None
            raise Conflict(refusal.code, str(refusal), retry_after_s=retry_after_s) from refusal
    return effect, known


def enqueue(unit: Unit, deps: Deps, contract_id: str, attempt_id: str) -> None:
    """Queue an attempt for the workers, and a timer for the case that they lose it."""
    unit.emit(
        "output.submitted", contract_id, OutputSubmitted(contract_id=contract_id, attempt_id=attempt_id), attempt_id
    )
    unit.set_timer(VERIFY, attempt_id, unit.now + deps.policy.verifying, {"contract_id": contract_id})
    unit.measures.count(ATTEMPTS_TOTAL, AttemptStatus.QUEUED)


async def _hashes(candidate: Candidate) -> tuple[str, str]:
    try:
        return await in_a_thread_if_long(candidate, partial(_hashed, candidate))
    except NotCanonical as error:
        raise not_canonical(error) from error


def _hashed(candidate: Candidate) -> tuple[str, str]:
    hashes = candidate_hash(candidate), output_hash(candidate.output)
    _refuse_oversized(candidate)  # afterwards: by now it is known to be JSON
    refuse_too_many(candidate.claimed_values)
    return hashes


def _refuse_oversized(candidate: Candidate) -> None:
    sizes = {
        "execution_metadata": _size(candidate.execution_metadata.model_dump(mode="json", exclude_none=True)),
        "claimed_metrics": _size(candidate.claimed_metrics),
        "claimed_values": _size(candidate.claimed_values),
    }
    problems = [
        Problem(path=f"/{name}", code="too_large", message=f"At most {MAX_SIDE_BYTES} bytes of JSON; this has {size}")
        for name, size in sizes.items()
        if size > MAX_SIDE_BYTES
    ]
    if problems:
        raise InvalidRequest("candidate_too_large", "What a candidate says beside its output is limited", problems)


def _size(said: Mapping[str, Any]) -> int:
    return len(json.dumps(said, ensure_ascii=False, separators=(",", ":")).encode())

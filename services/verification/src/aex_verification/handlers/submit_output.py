"""Intake of candidates.

A known candidate gets its earlier attempt; a new one is queued for verification.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from aex_models.canonical import NotCanonical
from aex_models.contract import AttemptStatus, Candidate
from aex_models.events import OutputSubmitted
from aex_models.governance import Party
from aex_models.work import Problem
from aex_outcomes.json_values import find_claim_texts_lost_in_storage
from aex_outcomes.lifecycle.outputs import candidate_hash, output_hash
from aex_outcomes.lifecycle.transitions import find_attempt_by_hash, receive_candidate
from aex_runtime.artifacts import Upload
from aex_runtime.errors import InvalidRequest
from aex_runtime.http.idempotency import Effect, IdempotentRequest
from aex_runtime.store.port import key_of
from aex_runtime.telemetry import add_span_attributes, continue_caller_or_subject_trace
from aex_runtime.tracing.spans import build_span_attributes_of_ids
from aex_runtime.unit_of_work import Unit
from aex_runtime.yielding import run_in_thread_if_large
from aex_verification.deps import Deps
from aex_verification.handlers.admit import load_or_open_contract, require_contract
from aex_verification.handlers.artifacts import find_candidate_uploads, record_artifact_uses
from aex_verification.handlers.close import run_contract_change
from aex_verification.handlers.save_contract import VERIFY, save_contract_with_events
from aex_verification.measures import ATTEMPTS_TOTAL
from aex_verification.repository import ATTEMPTS, CANDIDATES
from aex_verification.rules.candidates import make_not_canonical_refusal, require_claims_within_limit
from aex_verification.rules.records import AttemptRow

AFTER_INVALID = 10.0
"""Tokens of the replay limit for a candidate after an invalid one, because it needs a worker."""
MAX_SIDE_BYTES = 65_536
"""Bytes of JSON of metadata, and of claims; governance, which receives both, limits its requests too."""


class SubmittedOutput(NamedTuple):
    """Result of posting a candidate."""

    effect: Effect
    """Effect whose resource is the id of the attempt: the earlier one if the candidate was known."""
    is_known: bool
    """True if the candidate was posted before."""


async def submit_output(
    deps: Deps, agent: Party, contract_id: str, candidate: Candidate, request: IdempotentRequest
) -> SubmittedOutput:
    """Take in a candidate for a contract, once per idempotency key, and queue it for verification.

    Raises:
    - `Conflict` while another candidate is in progress, or once the contract is closed;
    - `InvalidRequest` for unknown uploads, values that I-JSON cannot hold, and sizes beyond the limits;
    - `RateLimited` for candidates that repeat, or follow invalid ones, too fast;
    - `TemporarilyUnavailable` for a new candidate when the disk is nearly full.
    """
    row = await load_or_open_contract(deps, contract_id, agent_id=agent.id)
    uploads = await find_candidate_uploads(deps, agent.id, candidate)
    attempt_id, hashes = (
        deps.ids.new("att"),
        await run_in_thread_if_large(candidate, partial(_hash_and_check, candidate)),
    )
    intake = _Intake(deps, agent, contract_id, attempt_id, candidate, *hashes, uploads)
    with continue_caller_or_subject_trace(row.traceparent, "submit output", build_span_attributes_of_ids(contract_id)):
        effect = await run_contract_change(deps, contract_id, request, intake.run)
        add_span_attributes(build_span_attributes_of_ids(effect.resource_id))
    return SubmittedOutput(effect, intake.is_known)


@dataclass(slots=True)
class _Intake:
    """Transaction that takes in one candidate; if run more than once, it takes rate-limit tokens once."""

    deps: Deps
    agent: Party
    contract_id: str
    attempt_id: str
    candidate: Candidate
    candidate_hash: str
    output_hash: str
    uploads: Mapping[str, Upload]
    is_charged: bool = False
    is_known: bool = False

    async def run(self, unit: Unit) -> str:
        """Write a new candidate and its attempt; return the attempt's id, or that of a known candidate."""
        stored = await require_contract(unit, self.contract_id)
        state = stored.record.state
        earlier = find_attempt_by_hash(state, self.candidate_hash)
        if earlier is not None:
            if not self.is_known:
                self._take_tokens()
            self.is_known = True
            return earlier
        self.is_known = False
        self.deps.bounds.require_free_disk_space()
        new_state = receive_candidate(state, self.attempt_id, self.candidate_hash, unit.now)
        if state.last_invalid is not None and not self.is_charged:
            # An invalid output uses no attempt: without a bound an agent could run the verifier for ever.
            self._take_tokens(AFTER_INVALID)
            self.is_charged = True
        save_contract_with_events(unit, stored, new_state)
        key = key_of(self.attempt_id)
        await unit.create_large(CANDIDATES, key, self.candidate)
        row = AttemptRow(
            attempt_id=self.attempt_id,
            contract_id=self.contract_id,
            candidate_key=key,
            candidate_hash=self.candidate_hash,
            output_hash=self.output_hash,
            agent_org=self.agent.org,
            claim_texts=find_claim_texts_lost_in_storage(self.candidate.claimed_values),
            status=AttemptStatus.QUEUED,
            platform_latency_ms=new_state.agent_ms,
            received_at=unit.now,
        )
        unit.create(ATTEMPTS, key, row)
        record_artifact_uses(unit, stored.record, self.attempt_id, self.uploads)
        enqueue_attempt(unit, self.deps, self.contract_id, self.attempt_id)
        return self.attempt_id

    def _take_tokens(self, tokens: float = 1.0) -> None:
        self.deps.replay_limit.take_tokens_or_raise(self.contract_id, self.deps.clock.now(), tokens)


def enqueue_attempt(unit: Unit, deps: Deps, contract_id: str, attempt_id: str) -> None:
    """Emit the event that has a worker verify the attempt, and set a timer in case the worker is lost."""
    event = OutputSubmitted(contract_id=contract_id, attempt_id=attempt_id)
    unit.emit("output.submitted", contract_id, event, attempt_id)
    unit.set_timer(VERIFY, attempt_id, unit.now + deps.policy.verification_lease, {"contract_id": contract_id})
    unit.measures.count(ATTEMPTS_TOTAL, AttemptStatus.QUEUED)


def _hash_and_check(candidate: Candidate) -> tuple[str, str]:
    try:
        hashes = candidate_hash(candidate), output_hash(candidate.output)
    except NotCanonical as error:
        raise make_not_canonical_refusal(error) from error
    _refuse_oversized(candidate)  # after hashing, which proves that it is JSON
    require_claims_within_limit(candidate.claimed_values)
    return hashes


def _refuse_oversized(candidate: Candidate) -> None:
    metadata = candidate.execution_metadata.model_dump(mode="json", exclude_none=True)
    problems: list[Problem] = []
    for name, value in (
        ("execution_metadata", metadata),
        ("claimed_metrics", candidate.claimed_metrics),
        ("claimed_values", candidate.claimed_values),
    ):
        size = len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())
        if size > MAX_SIDE_BYTES:
            message = f"At most {MAX_SIDE_BYTES} bytes of JSON; this has {size}"
            problems.append(Problem(path=f"/{name}", code="too_large", message=message))
    if problems:
        message = f"Metadata and claims have at most {MAX_SIDE_BYTES} bytes of JSON each; shorten them"
        raise InvalidRequest("candidate_too_large", message, problems)

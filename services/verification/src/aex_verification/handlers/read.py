"""Reads of contracts, attempts and outcomes, reduced to the fields that the reader may see."""

import asyncio
from collections.abc import Sequence
from typing import Any

from aex_models.audiences import Audience, Disclosure, project
from aex_models.contract import Attempt, AttemptStatus, Candidate, Contract
from aex_models.governance import Action
from aex_models.large_thresholds import restore_outcome_thresholds, restore_result_thresholds
from aex_models.outcome import OutcomeRecord
from aex_models.results import Verdict
from aex_models.work import FeedbackLevel, Work
from aex_runtime.errors import NotFound
from aex_runtime.http.auth import Principal
from aex_runtime.store.port import Scalar, key_of
from aex_runtime.telemetry import continue_subject_trace
from aex_runtime.tracing.spans import build_span_attributes_of_ids
from aex_verification.deps import Deps
from aex_verification.handlers.admit import load_or_open_contract
from aex_verification.handlers.close import end_contract_if_deadline_passed
from aex_verification.repository import ATTEMPTS, AWARDS, CANDIDATES, OUTCOMES
from aex_verification.rules.outcomes import AttemptStep, is_paid_or_successful, make_attempt_step
from aex_verification.rules.records import AttemptRow, ContractRow

_ATTEMPTS = 20
"""Attempts that are read at once for a rollout."""


def can_read(row: ContractRow | OutcomeRecord, reader: Principal) -> bool:
    """Return whether the reader is the record's agent or consumer, an operator or finance."""
    if reader.role is Audience.AGENT:
        return row.agent_id == reader.id
    if reader.role is Audience.CONSUMER:
        return row.consumer_id == reader.id
    return reader.role in {Audience.OPERATOR, Audience.FINANCE}


async def end_if_due_and_load_visible_contract(deps: Deps, reader: Principal, contract_id: str) -> ContractRow:
    """Return a contract that the reader may read. Raises `NotFound`.

    A contract whose deadline has passed is expired first.
    """
    row = await load_or_open_contract(deps, contract_id)
    if not can_read(row, reader):
        raise NotFound("contract_not_found", "No such contract")
    if not row.state.is_final and not row.state.is_busy and deps.clock.now() >= row.state.deadline:
        with continue_subject_trace(row.traceparent, "expire contract", build_span_attributes_of_ids(contract_id)):
            await end_contract_if_deadline_passed(deps, contract_id)
        row = await load_or_open_contract(deps, contract_id)
    return row


def has_secret_feedback(row: ContractRow, reader: Principal) -> bool:
    """Return whether the contract has feedback that this reader may only see once it pays for the output."""
    return reader.role is Audience.CONSUMER and row.state.last_feedback is not None


async def render_contract(deps: Deps, reader: Principal, row: ContractRow) -> dict[str, Any]:
    """Return the fields of a contract that the reader may see.

    A consumer sees feedback only on outputs that it pays for.
    """
    is_secret = has_secret_feedback(row, reader)
    is_visible = not is_secret or (
        row.state.is_final and is_paid_or_successful(await find_outcome(deps, row.contract_id))
    )
    return project(make_contract_view(row), reader.role, Disclosure(output=is_visible))


def make_contract_view(row: ContractRow) -> Contract:
    """Return the contract in its public form, before fields are hidden from a reader."""
    state = row.state
    return Contract(
        contract_id=row.contract_id,
        work_id=row.work_id,
        consumer_id=row.consumer_id,
        agent_id=row.agent_id,
        status=state.status,
        attempts_used=state.verification.attempts_used,
        max_attempts=state.verification.max_attempts,
        deadline=state.deadline,
        current_attempt=state.current_attempt,
        last_feedback=state.last_feedback,
        cause=state.cause,
        state_version=state.state_version,
        awarded_at=row.awarded_at,
        updated_at=state.updated_at,
    )


async def make_attempt_view(
    deps: Deps,
    row: AttemptRow,
    *,
    replay: bool = False,
    with_candidate: bool = False,
    with_unreleased_result: bool = False,
) -> Attempt:
    """Return the attempt as the API's model, with the fields that `project` later hides from a reader.

    `with_candidate` includes the candidate. `with_unreleased_result` includes a result that governance has not allowed
    yet. `replay` marks the view as that of a repeated candidate.
    """
    candidate = await CANDIDATES.get(deps.store, row.candidate_key) if with_candidate else None
    has_result = has_visible_result(row, with_unreleased_result=with_unreleased_result)
    awarded = await AWARDS.get(deps.store, key_of(row.contract_id)) if has_result else None
    known, work = candidate.record if candidate else None, awarded.record.work if awarded else None
    return _build_attempt_view(deps, row, known, work, replay=replay, with_unreleased_result=with_unreleased_result)


def has_visible_result(row: AttemptRow, *, with_unreleased_result: bool) -> bool:
    """Return whether the attempt's view will contain a result.

    Only then the caller has to load the work.
    """
    return row.result is not None and _has_verdict(row, with_unreleased_result=with_unreleased_result)


def render_loaded_attempt(
    deps: Deps, reader: Principal, row: AttemptRow, candidate: Candidate | None, work: Work | None, *, paid: bool
) -> dict[str, Any]:
    """Return the fields of an attempt that the reader may see, from records that the caller has loaded.

    `paid` is true if the reader is the consumer and pays for the output.
    """
    with_unreleased_result = reader.role is Audience.OPERATOR
    view = _build_attempt_view(deps, row, candidate, work, replay=False, with_unreleased_result=with_unreleased_result)
    return project(view, reader.role, Disclosure(level=view.disclosure, output=paid))


def _has_verdict(row: AttemptRow, *, with_unreleased_result: bool) -> bool:
    return with_unreleased_result or (row.status is AttemptStatus.JUDGED and not _is_withheld(row))


def _build_attempt_view(
    deps: Deps,
    row: AttemptRow,
    candidate: Candidate | None,
    work: Work | None,
    *,
    replay: bool,
    with_unreleased_result: bool,
) -> Attempt:
    is_running = row.status is AttemptStatus.QUEUED and row.attempt_id in deps.in_flight  # never written
    has_verdict = _has_verdict(row, with_unreleased_result=with_unreleased_result)
    result = row.result if has_verdict else None
    return Attempt(
        attempt_id=row.attempt_id,
        contract_id=row.contract_id,
        candidate_hash=row.candidate_hash,
        output_hash=row.output_hash,
        status=AttemptStatus.VERIFYING if is_running else row.status,
        verdict=row.verdict if has_verdict else None,
        feedback=row.feedback,
        errors=row.errors,
        counted=row.counted,
        replay=replay,
        result=restore_result_thresholds(result, work.success_criteria) if result and work else result,
        candidate=candidate,
        disclosure=work.verification.feedback if work else FeedbackLevel.NONE,
        received_at=row.received_at,
        judged_at=row.judged_at,
        system_retries=row.system_retries + row.governance_tries,
    )


def _is_withheld(row: AttemptRow) -> bool:
    """Return whether governance held a pass that was never released, because an operator retried it."""
    held = row.result is not None and row.result.governance.action is Action.HOLD
    return held and row.verdict is not Verdict.REJECTED


async def load_attempt(deps: Deps, contract_id: str, attempt_id: str) -> AttemptRow:
    """Return an attempt of the contract. Raises `NotFound`."""
    stored = await ATTEMPTS.get(deps.store, key_of(attempt_id))
    if stored is None or stored.record.contract_id != contract_id:
        raise NotFound("attempt_not_found", "No such attempt")
    return stored.record


async def load_attempt_steps(deps: Deps, reader: Principal, record: OutcomeRecord) -> Sequence[AttemptStep]:
    """Return the counted attempts of an outcome, oldest first, with what the reader may see of them.

    It is empty for a reader that sees no candidate: finance, and a consumer that does not pay.
    """
    paid = is_paid_or_successful(record)
    if reader.role is Audience.FINANCE or (reader.role is Audience.CONSUMER and not paid):
        return ()
    steps: list[AttemptStep] = []
    after: tuple[Scalar, str] | None = None
    while True:
        equal: dict[str, Scalar] = {"contract_id": record.contract_id}
        page = await ATTEMPTS.find(deps.store, equal, "created_at", after=after, limit=_ATTEMPTS)
        for stored in page:
            if stored.record.counted:
                candidate = await CANDIDATES.get(deps.store, stored.record.candidate_key)
                known = candidate.record if candidate else None
                steps.append(await asyncio.to_thread(_make_step, deps, reader, stored.record, known, record))
        if len(page) < _ATTEMPTS:
            return steps
        after = page[-1].document.fields["created_at"], page[-1].document.key


def _make_step(
    deps: Deps, reader: Principal, row: AttemptRow, candidate: Candidate | None, outcome: OutcomeRecord
) -> AttemptStep:
    is_operator = reader.role is Audience.OPERATOR
    view = _build_attempt_view(deps, row, candidate, None, replay=False, with_unreleased_result=is_operator)
    disclosure = Disclosure(level=outcome.disclosure, output=is_paid_or_successful(outcome))
    return make_attempt_step(project(view, reader.role, disclosure))


async def find_outcome(deps: Deps, contract_id: str) -> OutcomeRecord | None:
    """Return the outcome of a contract; None if there is none yet."""
    stored = await OUTCOMES.get(deps.store, key_of(contract_id))
    return stored.record if stored else None


async def render_attempt(deps: Deps, reader: Principal, row: AttemptRow) -> dict[str, Any]:
    """Return the fields of an attempt that the reader may see.

    A consumer sees only candidates that it pays for.
    """
    view = await make_attempt_view(
        deps, row, with_candidate=True, with_unreleased_result=reader.role is Audience.OPERATOR
    )
    paid = reader.role is Audience.CONSUMER and is_paid_or_successful(await find_outcome(deps, row.contract_id))
    return project(view, reader.role, Disclosure(level=view.disclosure, output=paid))


def render_outcome(reader: Principal, record: OutcomeRecord) -> dict[str, Any]:
    """Return the fields of an outcome that the reader may see."""
    disclosure = Disclosure(level=record.disclosure, output=is_paid_or_successful(record))
    return project(restore_outcome_thresholds(record), reader.role, disclosure)


def own_party_filter(reader: Principal) -> dict[str, str]:
    """Return the field and id to which a consumer's or agent's records are limited; empty for other roles."""
    return {f"{reader.role.value}_id": reader.id} if reader.role in {Audience.AGENT, Audience.CONSUMER} else {}

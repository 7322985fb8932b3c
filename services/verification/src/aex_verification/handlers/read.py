"""What parties read: contracts, attempts and outcomes, each through the reader's allow-list."""

from typing import Any

from aex_models.audiences import Audience, Disclosure, project
from aex_models.contract import Attempt, AttemptStatus, Contract, ContractStatus
from aex_models.governance import Action
from aex_models.outcome import OutcomeRecord
from aex_models.results import Verdict
from aex_models.work import FeedbackLevel
from aex_runtime.errors import NotFound
from aex_runtime.http.auth import Principal
from aex_runtime.http.listing import list_page
from aex_runtime.http.pagination import PageRequest
from aex_runtime.store.keys import key_of
from aex_runtime.telemetry import in_trace_of
from aex_runtime.tracing.subjects import about
from aex_verification.deps import Deps
from aex_verification.handlers.admit import contract_row
from aex_verification.handlers.close import expire_contract
from aex_verification.repository import ATTEMPTS, AWARDS, CANDIDATES, CONTRACTS, OUTCOMES
from aex_verification.rules.outcome import paid_for
from aex_verification.rules.records import AttemptRow, ContractRow


def may_see(row: ContractRow | OutcomeRecord, reader: Principal) -> bool:
    """Its consumer, its agent, and those who see all."""
    if reader.role is Audience.AGENT:
        return row.agent_id == reader.id
    if reader.role is Audience.CONSUMER:
        return row.consumer_id == reader.id
    return reader.role in {Audience.OPERATOR, Audience.FINANCE}


async def visible_contract(deps: Deps, reader: Principal, contract_id: str) -> ContractRow:
    """The contract where the reader may know of it, its deadline looked at. Raises `NotFound`."""
    row = await contract_row(deps, contract_id)
    if not may_see(row, reader):
        raise NotFound("contract_not_found", "No such contract")
    if not row.state.final and not row.state.busy and deps.clock.now() >= row.state.deadline:
        with in_trace_of(row.traceparent, "expire contract", about(contract_id)):  # whoever came to read
            await expire_contract(deps, contract_id)
        row = await contract_row(deps, contract_id)
    return row


def contract_view(row: ContractRow) -> Contract:
    """A contract as its parties know it."""
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
        state_version=state.state_version,
        awarded_at=row.awarded_at,
        updated_at=state.updated_at,
    )


async def shown_contract(deps: Deps, reader: Principal, row: ContractRow) -> dict[str, Any]:
    """A contract as this reader may see it: a consumer reads the feedback only of what it pays for."""
    secret = reader.role is Audience.CONSUMER and row.state.last_feedback is not None
    told = not secret or (row.state.final and paid_for(await outcome_of(deps, row.contract_id)))
    return project(contract_view(row), reader.role, Disclosure(output=told))


async def attempt_view(
    deps: Deps, row: AttemptRow, *, replay: bool = False, whole: bool = False, early: bool = False
) -> Attempt:
    """An attempt; `whole`: with the candidate; `early`: with a result that governance has not allowed yet."""
    told = early or (row.status is AttemptStatus.JUDGED and not _withheld(row))
    candidate = await CANDIDATES.get(deps.store, row.candidate_key) if whole else None
    result = row.result if told else None
    return Attempt(
        attempt_id=row.attempt_id,
        contract_id=row.contract_id,
        candidate_hash=row.candidate_hash,
        output_hash=row.output_hash,
        status=_status(deps, row),
        verdict=row.verdict if told else None,
        feedback=row.feedback,
        errors=row.errors,
        counted=row.counted,
        replay=replay,
        result=result,
        candidate=candidate.record if candidate else None,
        # Of a result alone it says how much is told: while there is none, no award need be read for it.
        disclosure=await feedback_level(deps, row.contract_id) if result else FeedbackLevel.NONE,
        received_at=row.received_at,
        judged_at=row.judged_at,
        system_retries=row.system_retries,
    )


def _status(deps: Deps, row: AttemptRow) -> AttemptStatus:
    """Queued turns into verifying without a write: whoever works on the attempt knows."""
    working = row.status is AttemptStatus.QUEUED and row.attempt_id in deps.under_way
    return AttemptStatus.VERIFYING if working else row.status


def _withheld(row: AttemptRow) -> bool:
    """A pass that governance held and an operator had retried was never allowed: it is not told either."""
    held = row.result is not None and row.result.governance.action is Action.HOLD
    return held and row.verdict is not Verdict.REJECTED


async def feedback_level(deps: Deps, contract_id: str) -> FeedbackLevel:
    """How much the work tells its agent."""
    awarded = await AWARDS.get(deps.store, key_of(contract_id))
    return awarded.record.work.verification.feedback if awarded else FeedbackLevel.NONE


async def attempt_row(deps: Deps, contract_id: str, attempt_id: str) -> AttemptRow:
    """One attempt of one contract. Raises `NotFound`."""
    stored = await ATTEMPTS.get(deps.store, key_of(attempt_id))
    if stored is None or stored.record.contract_id != contract_id:
        raise NotFound("attempt_not_found", "No such attempt")
    return stored.record


async def outcome_of(deps: Deps, contract_id: str) -> OutcomeRecord | None:
    """The contract's outcome, where it has one."""
    stored = await OUTCOMES.get(deps.store, key_of(contract_id))
    return stored.record if stored else None


async def shown_attempt(deps: Deps, reader: Principal, row: AttemptRow) -> dict[str, Any]:
    """An attempt as this reader may see it: a consumer reads the candidate only of what it pays for."""
    view = await attempt_view(deps, row, whole=True, early=reader.role is Audience.OPERATOR)
    paid = paid_for(await outcome_of(deps, row.contract_id)) if reader.role is Audience.CONSUMER else False
    return project(view, reader.role, Disclosure(level=view.disclosure, output=paid))


def shown_outcome(reader: Principal, record: OutcomeRecord) -> dict[str, Any]:
    """An outcome as this reader may see it."""
    return project(record, reader.role, Disclosure(level=record.disclosure, output=paid_for(record)))


async def list_contracts(
    deps: Deps, reader: Principal, paging: PageRequest, status: ContractStatus | None
) -> dict[str, Any]:
    """A page of the reader's contracts, newest first."""

    async def render(row: ContractRow) -> dict[str, Any]:
        return await shown_contract(deps, reader, row)

    equal = _own(reader) | ({"status": status.value} if status else {})
    return await list_page(deps.store, CONTRACTS, paging, render, equal=equal, order="created_at")


async def list_attempts(deps: Deps, reader: Principal, contract_id: str, paging: PageRequest) -> dict[str, Any]:
    """A page of a contract's attempts, oldest first."""

    async def render(row: AttemptRow) -> dict[str, Any]:
        return await shown_attempt(deps, reader, row)

    equal = {"contract_id": contract_id}
    return await list_page(deps.store, ATTEMPTS, paging, render, equal=equal, order="created_at", direction="asc")


async def list_outcomes(deps: Deps, reader: Principal, paging: PageRequest) -> dict[str, Any]:
    """A page of the outcomes that the reader may see, newest first."""

    async def render(record: OutcomeRecord) -> dict[str, Any]:
        return shown_outcome(reader, record)

    return await list_page(deps.store, OUTCOMES, paging, render, equal=_own(reader), order="created_at")


def _own(reader: Principal) -> dict[str, str]:
    """Consumers and agents list what is theirs."""
    return {f"{reader.role.value}_id": reader.id} if reader.role in {Audience.AGENT, Audience.CONSUMER} else {}

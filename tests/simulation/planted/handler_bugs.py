"""Planted bugs in event handlers and in collaborators of verification."""

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from aex_models.contract import ContractStatus
from aex_models.events import Event, OutcomeVerified
from aex_models.governance import Action, ValidationDecision, ValidationRequest
from aex_models.settlement import LedgerTransaction, TransactionKind
from aex_runtime.store.port import key_of
from aex_runtime.unit_of_work import Unit
from aex_settlement.repository.ledger import create_unsealed_transactions
from aex_settlement.rules.settlements import check_outcome_and_recompute_cost
from aex_settlement.rules.transactions import settlement_postings
from aex_verification.deps import Deps
from aex_verification.handlers.conclude import write_and_publish_outcome
from aex_verification.ports import GovernanceClient
from aex_verification.repository import AWARDS, CONTRACTS, OUTCOMES
from tests.simulation.planted.plant import Handlers, Plant

if TYPE_CHECKING:
    from tests.simulation.services import Service


def _ack_first(service: "Service", handlers: Handlers) -> Handlers:
    if service.name != "settlement":
        return handlers

    async def outcome_verified(event: Event) -> None:
        with suppress(Exception):  # the message is gone, and what it was to do is not done
            await handlers["outcome.verified"](event)

    return {**handlers, "outcome.verified": outcome_verified}


ACKS_BEFORE_THE_COMMIT = Plant("acks_before_the_commit", "a failure loses the message under way", handlers=_ack_first)


def _uncount_attempt(service: "Service", handlers: Handlers) -> Handlers:
    if service.name != "verification":
        return handlers

    async def output_submitted(event: Event) -> None:
        async def give_back(unit: Unit) -> None:
            stored = await unit.get(CONTRACTS, key_of(event.subject))
            if stored is None or stored.record.state.is_final or not stored.record.state.verification.attempts_used:
                return
            state = stored.record.state
            fewer = state.verification.model_copy(update={"attempts_used": state.verification.attempts_used - 1})
            row = stored.record.model_copy(update={"state": state.model_copy(update={"verification": fewer})})
            unit.update(CONTRACTS, stored, row)

        try:
            await handlers["output.submitted"](event)
        except Exception:
            await service.unit_of_work.run(give_back)
            raise

    return {**handlers, "output.submitted": output_submitted}


GIVES_AN_ATTEMPT_BACK = Plant(
    "gives_an_attempt_back", "after a failure a counted attempt is uncounted", handlers=_uncount_attempt
)


@dataclass(frozen=True, slots=True)
class _ApprovingGovernance:
    governance: GovernanceClient

    async def validate(self, request: ValidationRequest) -> ValidationDecision:
        decision = await self.governance.validate(request)
        return decision.model_copy(update={"valid": True, "action": Action.ALLOW})


def _approve_all(deps: Deps) -> Deps:
    return replace(deps, governance=_ApprovingGovernance(deps.governance))


OVERRULES_GOVERNANCE = Plant(
    "overrules_governance", "what governance held is paid with its bonus", verification=_approve_all
)


def _post_repeated_events(service: "Service", handlers: Handlers) -> Handlers:
    if service.name != "settlement":
        return handlers

    async def outcome_verified(event: Event) -> None:
        await handlers["outcome.verified"](event)
        outcome = OutcomeVerified.model_validate(event.data).outcome

        async def post(unit: Unit) -> None:
            cost = check_outcome_and_recompute_cost(outcome)
            transaction = LedgerTransaction(
                id=service.ids.new("txn"),
                contract_id=outcome.contract_id,
                kind=TransactionKind.SETTLEMENT,
                postings=settlement_postings(cost, outcome.consumer_id, outcome.agent_id),
                occurred_at=unit.now,
            )
            create_unsealed_transactions(unit, transaction)

        if event.id in seen:
            await service.unit_of_work.run(post)
        seen.add(event.id)

    seen: set[str] = set()
    return {**handlers, "outcome.verified": outcome_verified}


POSTS_TWICE = Plant("posts_twice", "a repeated event is posted twice", handlers=_post_repeated_events)


def _apply_to_current_attempt(service: "Service", handlers: Handlers) -> Handlers:
    if service.name != "verification":
        return handlers

    async def outcome_reviewed(event: Event) -> None:
        stored = await CONTRACTS.get(service.store, key_of(event.subject))
        if stored is not None and stored.record.state.status is ContractStatus.HELD:
            about = {**event.data, "attempt_id": stored.record.state.current_attempt}
            event = event.model_copy(update={"data": about})
        await handlers["outcome.reviewed"](event)

    return {**handlers, "outcome.reviewed": outcome_reviewed}


REVIEWS_THE_WRONG_HOLD = Plant(
    "reviews_the_wrong_hold",
    "what an operator decided of one hold is done to the next",
    handlers=_apply_to_current_attempt,
)


def _settle_cancelled(service: "Service", handlers: Handlers) -> Handlers:
    if service.name != "verification":
        return handlers

    async def contract_awarded(event: Event) -> None:
        async def settle(unit: Unit) -> None:
            stored = await unit.get(CONTRACTS, key_of(event.subject))
            awarded = await unit.get(AWARDS, key_of(event.subject))
            outcome = await unit.get(OUTCOMES, key_of(event.subject))
            if stored is None or awarded is None or outcome is not None:
                return
            if stored.record.state.status is ContractStatus.CANCELLED:
                ended = stored.record.state.model_copy(update={"status": ContractStatus.EXPIRED})
                await write_and_publish_outcome(unit, awarded.record, ended, None, None)

        await handlers["contract.awarded"](event)
        await service.unit_of_work.run(settle)

    return {**handlers, "contract.awarded": contract_awarded}


SETTLES_WHAT_IS_CANCELLED = Plant(
    "settles_what_is_cancelled", "a cancelled contract is settled as one that ran out", handlers=_settle_cancelled
)

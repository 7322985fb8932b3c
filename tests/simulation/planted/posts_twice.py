"""Settlement without a memory: a transaction's id is new each time, and a repeated event posts again."""

from typing import TYPE_CHECKING

from aex_models.events import Event, OutcomeVerified
from aex_models.settlement import LedgerTransaction, TransactionKind
from aex_runtime.unit_of_work import Unit
from aex_settlement.repository.ledger import create_transactions
from aex_settlement.rules.postings import settlement_postings
from aex_settlement.rules.recompute import recomputed_cost
from tests.simulation.planted.plant import Handlers, Plant

if TYPE_CHECKING:
    from tests.simulation.services import Service


def _forgetful(service: "Service", handlers: Handlers) -> Handlers:
    if service.name != "settlement":
        return handlers

    async def outcome_verified(event: Event) -> None:
        await handlers["outcome.verified"](event)
        outcome = OutcomeVerified.model_validate(event.data).outcome

        async def post(unit: Unit) -> None:
            cost = recomputed_cost(outcome)
            transaction = LedgerTransaction(
                id=service.ids.new("txn"),
                contract_id=outcome.contract_id,
                kind=TransactionKind.SETTLEMENT,
                postings=settlement_postings(cost, outcome.consumer_id, outcome.agent_id),
                occurred_at=unit.now,
            )
            create_transactions(unit, transaction)

        if event.id in seen:
            await service.unit_of_work.run(post)
        seen.add(event.id)

    seen: set[str] = set()
    return {**handlers, "outcome.verified": outcome_verified}


POSTS_TWICE = Plant("posts_twice", "an event that comes again is posted again", handlers=_forgetful)

"""PostTransaction: a deposit or an adjustment by finance."""

import structlog

from aex_models.settlement import LedgerTransaction, TransactionKind, TransactionRequest
from aex_runtime.errors import InvalidRequest, told
from aex_runtime.http.idempotency import Effect, IdempotentRequest, run_idempotent
from aex_runtime.unit_of_work import Unit
from aex_settlement.deps import Deps
from aex_settlement.repository.ledger import create_transactions
from aex_settlement.rules.requested import transaction_problems

_log = structlog.get_logger("aex_settlement.post_transaction")


async def post_transaction(deps: Deps, request: TransactionRequest, by: str, once: IdempotentRequest) -> Effect:
    """Post what finance asks for; a repeat under the same idempotency key posts nothing.

    Raises `InvalidRequest`, naming everything that is wrong, for postings that the ledger does not take.
    """
    problems = transaction_problems(request)
    if problems:
        raise InvalidRequest("invalid_transaction", told(problems), problems)
    transaction_id = deps.ids.new("txn")

    async def post(unit: Unit) -> str:
        transaction = LedgerTransaction(
            id=transaction_id,
            kind=TransactionKind(request.kind),
            postings=request.postings,
            occurred_at=unit.now,
            reason=request.reason,
            by=by,
        )
        create_transactions(unit, transaction)
        return transaction.id

    effect = await run_idempotent(deps.unit_of_work, once, post)
    deps.booked()
    _log.info("transaction_posted", transaction_id=effect.resource_id, kind=request.kind, replayed=effect.replayed)
    return effect

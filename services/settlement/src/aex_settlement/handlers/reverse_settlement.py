"""ReverseSettlement: finance takes a revision back and, where it says so, books the next; at most once for each."""

import structlog

from aex_models.corrections import ReversalRequest
from aex_models.events import SettlementAdjusted
from aex_models.settlement import Cost, Settlement
from aex_runtime.errors import NotFound
from aex_runtime.http.idempotency import Effect, IdempotentRequest, run_idempotent
from aex_runtime.store.keys import key_of
from aex_runtime.store.port import AlreadyExists
from aex_runtime.unit_of_work import Unit
from aex_settlement.deps import Deps
from aex_settlement.repository.ledger import TRANSACTIONS, create_transactions
from aex_settlement.repository.settlements import SETTLEMENTS
from aex_settlement.rules.booked import reversal_transaction, settlement_transaction
from aex_settlement.rules.corrections import (
    booked_anew_at,
    check_correctable,
    check_replacement,
    corrected,
    no_cost,
    replaced_cost,
    taken_back_at,
)

_log = structlog.get_logger("aex_settlement.reverse_settlement")


async def reverse_settlement(
    deps: Deps, contract_id: str, request: ReversalRequest, by: str, once: IdempotentRequest
) -> Effect:
    """Correct a contract's settlement; a repeat under the same idempotency key corrects nothing.

    Raises `InvalidRequest` for a replacement below 0, `NotFound` for a contract that is not settled, and `Conflict`
    where the revision that is meant does not stand: reversed already, or corrected since the request came.
    """
    check_replacement(request.replacement)
    found = await SETTLEMENTS.get(deps.store, key_of(contract_id))
    seen = None if found is None else found.record.revision

    async def correct(unit: Unit) -> str:
        await _correct(unit, contract_id, request, by, seen)
        return contract_id

    try:
        effect = await run_idempotent(deps.unit_of_work, once, correct)
    except AlreadyExists as overtaken:
        if overtaken.collection != TRANSACTIONS.collection.name:
            raise
        # Another operator committed between this one's read and its commit; that is there to be read now.
        effect = await run_idempotent(deps.unit_of_work, once, correct)
    deps.booked()
    _log.info(
        "settlement_reversed",
        contract_id=contract_id,
        revision=seen,
        replaced=request.replacement is not None,
        replayed=effect.replayed,
    )
    return effect


async def _correct(unit: Unit, contract_id: str, request: ReversalRequest, by: str, seen: int | None) -> None:
    stored = await unit.get(SETTLEMENTS, key_of(contract_id))
    if stored is None:
        raise NotFound("settlement_not_found", "no settlement of this contract")
    before = stored.record
    check_correctable(before, request.revision, seen)
    cost = None if request.replacement is None else replaced_cost(before, request.replacement)
    at = taken_back_at(before, unit.now)
    after = corrected(before, request, cost, by, at)
    booked = [reversal_transaction(before, before.revision, before.cost, at, request.reason, by)]
    if cost is not None:
        moment = booked_anew_at(at)
        booked.append(settlement_transaction(after, after.revision, cost, moment, request.reason, by))
    create_transactions(unit, *booked)
    unit.update(SETTLEMENTS, stored, after)
    _tell(unit, before, after, cost)


def _tell(unit: Unit, before: Settlement, after: Settlement, cost: Cost | None) -> None:
    adjusted = SettlementAdjusted(
        contract_id=after.contract_id, revision=after.revision, cost=no_cost(before) if cost is None else cost
    )
    # Caused by the revision that was taken back, which happens once: the one that stands may be told of twice.
    unit.emit("settlement.adjusted", after.contract_id, adjusted, before.revision)

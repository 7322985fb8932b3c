"""SettleOutcome: a verified outcome becomes one balanced transaction and one settlement, once and only once."""

import structlog

from aex_models.events import SettlementCompleted
from aex_models.outcome import OutcomeRecord
from aex_models.settlement import Cost, Settlement, SettlementRevision, SettlementStatus
from aex_runtime.handlers import Poison
from aex_runtime.store.keys import key_of
from aex_runtime.store.port import AlreadyExists
from aex_runtime.telemetry import step
from aex_runtime.tracing.subjects import about
from aex_runtime.unit_of_work import Unit
from aex_settlement.deps import Deps
from aex_settlement.measures import REFUSED_TOTAL, SETTLEMENT_LAG_SECONDS
from aex_settlement.repository.ledger import create_transactions
from aex_settlement.repository.settlements import SETTLEMENTS, create_settlement
from aex_settlement.rules.booked import settlement_transaction
from aex_settlement.rules.recompute import Refused, check_replay, recomputed_cost

FIRST_REVISION = 1
_log = structlog.get_logger("aex_settlement.settle_outcome")


async def settle_outcome(deps: Deps, outcome: OutcomeRecord) -> bool:
    """Settle an outcome; False where it was settled before.

    Raises `Poison`, with an alarm in the log, for an outcome whose cost does not come out as it says, and for a
    settled contract that comes again as another outcome.
    """
    log = _log.bind(contract_id=outcome.contract_id, outcome_id=outcome.id)
    try:
        cost = recomputed_cost(outcome)
        with step("book settlement", about(outcome.contract_id, outcome.work_id)):
            posted = await _post_once(deps, outcome, cost)
    except Refused as refused:
        deps.unit_of_work.measures.count(REFUSED_TOTAL)
        log.critical("settlement_refused", alarm=True, code=refused.code, detail=refused.detail)
        raise Poison(f"{refused.code}: {refused.detail}") from refused
    if posted:
        deps.booked()
    log.info("contract_settled" if posted else "settlement_replayed", currency=cost.currency, total=str(cost.total))
    return posted


async def _post_once(deps: Deps, outcome: OutcomeRecord, cost: Cost) -> bool:
    async def post(unit: Unit) -> bool:
        return await _post(unit, outcome, cost)

    try:
        return await deps.unit_of_work.run(post)
    except AlreadyExists:
        # Another replica committed between this one's read and its commit; what it wrote is there to be read now.
        return await deps.unit_of_work.run(post)


async def _post(unit: Unit, outcome: OutcomeRecord, cost: Cost) -> bool:
    earlier = await unit.get(SETTLEMENTS, key_of(outcome.contract_id))
    if earlier is not None:
        check_replay(earlier.record, outcome, cost)
        return False
    settlement = _settlement(unit, outcome, cost)
    reason = f"outcome {outcome.id}"
    create_transactions(
        unit, settlement_transaction(settlement, FIRST_REVISION, cost, unit.now, reason, "service:settlement")
    )
    create_settlement(unit, settlement)
    completed = SettlementCompleted(contract_id=outcome.contract_id, revision=FIRST_REVISION, cost=cost)
    unit.emit("settlement.completed", outcome.contract_id, completed, FIRST_REVISION)
    unit.measures.observe(SETTLEMENT_LAG_SECONDS, (unit.now - outcome.created_at).total_seconds())
    return True


def _settlement(unit: Unit, outcome: OutcomeRecord, cost: Cost) -> Settlement:
    result = outcome.verification_result
    return Settlement(
        contract_id=outcome.contract_id,
        work_id=outcome.work_id,
        agent_id=outcome.agent_id,
        consumer_id=outcome.consumer_id,
        domain=outcome.domain,
        success=result is not None and result.success,
        final_status=outcome.final_status,
        verdict=result and result.verdict,
        status=SettlementStatus.SETTLED,
        revision=FIRST_REVISION,
        revisions=(SettlementRevision(revision=FIRST_REVISION, cost=cost, settled_at=unit.now),),
        cost=cost,
        fee_rate=outcome.terms.fee_rate,
        disclosure=outcome.disclosure,
        settled_at=unit.now,
    )

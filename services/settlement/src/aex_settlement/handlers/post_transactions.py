"""Commands that post to the ledger: settlements, reversals, deposits and adjustments."""

import structlog

from aex_models.corrections import ReversalRequest
from aex_models.events import SettlementAdjusted, SettlementCompleted
from aex_models.large_thresholds import has_omitted_thresholds
from aex_models.outcome import OutcomeRecord
from aex_models.settlement import (
    Cost,
    LedgerTransaction,
    Settlement,
    SettlementRevision,
    SettlementStatus,
    TransactionKind,
    TransactionRequest,
)
from aex_runtime.errors import InvalidRequest, NotFound, summarize_problems
from aex_runtime.http.idempotency import Effect, IdempotentRequest, run_idempotent
from aex_runtime.records import Poison
from aex_runtime.store.port import AlreadyExists, key_of
from aex_runtime.telemetry import trace_step
from aex_runtime.tracing.spans import build_span_attributes_of_ids
from aex_runtime.unit_of_work import Unit
from aex_settlement.deps import Deps
from aex_settlement.measures import REFUSED_TOTAL, SETTLEMENT_LAG_SECONDS
from aex_settlement.repository.ledger import SETTLEMENTS, TRANSACTIONS, create_unsealed_transactions
from aex_settlement.rules.settlements import (
    SettlementRefused,
    apply_correction,
    build_zero_cost,
    check_outcome_and_recompute_cost,
    choose_replacement_time,
    choose_reversal_time,
    compute_replacement_cost,
    require_correctable,
    require_nonnegative_replacement,
    require_same_outcome,
)
from aex_settlement.rules.transactions import (
    build_reversal_transaction,
    build_settlement_transaction,
    find_request_problems,
)

FIRST_REVISION = 1
_log = structlog.get_logger("aex_settlement.settle_outcome")


async def settle_outcome(deps: Deps, outcome: OutcomeRecord) -> bool:
    """Post the cost of an outcome to the ledger, once; return False if it was settled before.

    Emits `settlement.completed` and wakes the sealer. Logs an alarm and raises `Poison` if the cost differs from that
    in the outcome, or the contract was settled with another outcome.
    """
    log = _log.bind(contract_id=outcome.contract_id, outcome_id=outcome.id)
    try:
        cost = check_outcome_and_recompute_cost(outcome)
        with trace_step("book settlement", build_span_attributes_of_ids(outcome.contract_id, outcome.work_id)):
            posted = await _post_once(deps, outcome, cost)
    except SettlementRefused as refused:
        deps.unit_of_work.measures.count(REFUSED_TOTAL)
        log.critical("settlement_refused", alarm=True, code=refused.code, detail=refused.detail)
        raise Poison(f"{refused.code}: {refused.detail}") from refused
    if posted:
        deps.notify_sealer()
    log.info("contract_settled" if posted else "settlement_replayed", currency=cost.currency, total=str(cost.total))
    return posted


async def _post_once(deps: Deps, outcome: OutcomeRecord, cost: Cost) -> bool:
    async def post(unit: Unit) -> bool:
        return await _post(unit, outcome, cost)

    try:
        return await deps.unit_of_work.run(post)
    except AlreadyExists:
        # Another replica committed between this one's read and its commit: read what it wrote.
        return await deps.unit_of_work.run(post)


async def _post(unit: Unit, outcome: OutcomeRecord, cost: Cost) -> bool:
    earlier = await unit.get(SETTLEMENTS, key_of(outcome.contract_id))
    if earlier is not None:
        require_same_outcome(earlier.record, outcome, cost)
        return False
    settlement = _settlement(unit, outcome, cost)
    reason = f"outcome {outcome.id}"
    create_unsealed_transactions(
        unit, build_settlement_transaction(settlement, FIRST_REVISION, cost, unit.now, reason, "service:settlement")
    )
    unit.create(SETTLEMENTS, key_of(settlement.contract_id), settlement)
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
        success_criteria=outcome.success_criteria if has_omitted_thresholds(cost.lines) else None,
        disclosure=outcome.disclosure,
        settled_at=unit.now,
    )


async def reverse_settlement(
    deps: Deps, contract_id: str, request: ReversalRequest, by: str, idempotent_request: IdempotentRequest
) -> Effect:
    """Reverse a settlement's current revision and post its replacement, if any; once per idempotency key.

    Emits `settlement.adjusted` and wakes the sealer. The effect's resource is the contract's id. Raises:
    - `InvalidRequest` for a replacement below 0;
    - `NotFound` for a contract that is not settled;
    - `Conflict` if the revision is reversed already, or was corrected after the request came.
    """
    require_nonnegative_replacement(request.replacement)
    found = await SETTLEMENTS.get(deps.store, key_of(contract_id))
    read_revision = None if found is None else found.record.revision

    async def correct(unit: Unit) -> str:
        await _correct(unit, contract_id, request, by, read_revision)
        return contract_id

    try:
        effect = await run_idempotent(deps.unit_of_work, idempotent_request, correct)
    except AlreadyExists as conflict:
        if conflict.collection != TRANSACTIONS.collection.name:
            raise
        # Another operator committed between this one's read and its commit: read what it wrote.
        effect = await run_idempotent(deps.unit_of_work, idempotent_request, correct)
    deps.notify_sealer()
    _log.info(
        "settlement_reversed",
        contract_id=contract_id,
        revision=read_revision,
        replaced=request.replacement is not None,
        replayed=effect.is_replay,
    )
    return effect


async def _correct(unit: Unit, contract_id: str, request: ReversalRequest, by: str, read_revision: int | None) -> None:
    stored = await unit.get(SETTLEMENTS, key_of(contract_id))
    if stored is None:
        raise NotFound("settlement_not_found", "no settlement of this contract")
    before = stored.record
    require_correctable(before, request.revision, read_revision)
    cost = None if request.replacement is None else compute_replacement_cost(before, request.replacement)
    at = choose_reversal_time(before, unit.now)
    after = apply_correction(before, request, cost, by, at)
    transactions = [build_reversal_transaction(before, before.revision, before.cost, at, request.reason, by)]
    if cost is not None:
        occurred_at = choose_replacement_time(at)
        transactions.append(build_settlement_transaction(after, after.revision, cost, occurred_at, request.reason, by))
    create_unsealed_transactions(unit, *transactions)
    unit.update(SETTLEMENTS, stored, after)
    adjusted = SettlementAdjusted(
        contract_id=after.contract_id, revision=after.revision, cost=build_zero_cost(before) if cost is None else cost
    )
    # The event's cause is the reversed revision, as that happens once; the current one may appear in two events.
    unit.emit("settlement.adjusted", after.contract_id, adjusted, before.revision)


async def post_transaction(
    deps: Deps, request: TransactionRequest, by: str, idempotent_request: IdempotentRequest
) -> Effect:
    """Post a deposit or an adjustment, once per idempotency key, and wake the sealer.

    The effect's resource is the transaction's id. Raises `InvalidRequest` with every problem of the postings.
    """
    problems = find_request_problems(request)
    if problems:
        raise InvalidRequest("invalid_transaction", summarize_problems(problems), problems)
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
        create_unsealed_transactions(unit, transaction)
        return transaction.id

    effect = await run_idempotent(deps.unit_of_work, idempotent_request, post)
    deps.notify_sealer()
    _log.info("transaction_posted", transaction_id=effect.resource_id, kind=request.kind, replayed=effect.is_replay)
    return effect

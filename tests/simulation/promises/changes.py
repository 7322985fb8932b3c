"""Allowed changes of each record, checked at every commit."""

from collections.abc import Callable
from typing import Any

from aex_governance.repository import HOLDS, VALIDATIONS
from aex_governance.repository import OUTCOMES as LOGGED_OUTCOMES
from aex_governance.rules.projection_documents import ValidationRecord
from aex_models.contract import ContractStatus
from aex_models.events import SERVICES
from aex_models.governance import Decision, Hold, HoldStatus
from aex_models.settlement import LedgerTransaction, Settlement, SettlementStatus, TransactionKind
from aex_outcomes.lifecycle.state import ContractState
from aex_runtime.deadletters import DeadLetter, dead_letters_table
from aex_runtime.http.idempotency import idempotency_table
from aex_runtime.store.table import Table
from aex_settlement.repository.journal import BATCHES
from aex_settlement.repository.ledger import SETTLEMENTS, TRANSACTIONS
from aex_verification.repository import ATTEMPTS, CANDIDATES, CONTRACTS, EVENTS, FINAL_RESULTS, OUTCOMES
from aex_verification.repository import AWARDS as KNOWN_AWARDS
from aex_verification.rules.records import AttemptRow, ContractRow
from aex_work_publisher.repository import AWARDS, WORKS
from tests.simulation.engine.commit_log import Change, Commit
from tests.simulation.promises.costs import check_outcome, check_posted, check_settlement
from tests.simulation.promises.owed import OWED
from tests.simulation.promises.promise import require_promise
from tests.simulation.promises.seen import Observations

_FINAL: tuple[Table[Any], ...] = (
    AWARDS,
    KNOWN_AWARDS,
    CANDIDATES,
    FINAL_RESULTS,
    OUTCOMES,
    EVENTS,
    VALIDATIONS,
    LOGGED_OUTCOMES,
    TRANSACTIONS,
    BATCHES,
    *(idempotency_table(service) for service in SERVICES),
)
_COUNTED: tuple[Table[Any], ...] = (WORKS, AWARDS, TRANSACTIONS, ATTEMPTS)
_DEAD = {table.collection.name: table for table in map(dead_letters_table, SERVICES)}
_WRITTEN_ONCE = frozenset(table.collection.name for table in _FINAL)
_CREATED = frozenset(table.collection.name for table in _COUNTED)
"""Collections whose created documents are counted at rest."""


def check_commit(seen: Observations, commit: Commit) -> None:
    """Check one commit. Raises `BrokenPromise`."""
    for change in commit.changes:
        if change.collection in _WRITTEN_ONCE:
            kept = change.before is None or change.before == change.after or _is_marked_paid(change)
            require_promise(kept, "no final record ever changes", f"{change.collection}/{change.key}")
        if change.before is None and change.collection in _CREATED:
            seen.created.setdefault(change.collection, set()).add(change.key)
        if change.collection in _DEAD and change.after is not None:
            _given_up(seen, commit.service, _record(_DEAD[change.collection], change.after))
        if change.collection in _CHECKS:
            table, check = _CHECKS[change.collection]
            before, after = _record(table, change.before), _record(table, change.after)
            require_promise(after is not None, "no record is ever deleted", f"{change.collection}/{change.key}")
            check(seen, before, after)
            _check_events_of(commit, change, before, after)


def _is_marked_paid(change: Change) -> bool:
    """Return True if an outcome changes only by a correction that makes its consumer pay."""
    if change.collection != OUTCOMES.collection.name or change.after is None:
        return False
    before = _record(OUTCOMES, change.before)
    return bool(_record(OUTCOMES, change.after) == before.model_copy(update={"paid_by_correction": True}))


def _record(table: Table[Any], body: bytes | None) -> Any:
    return None if body is None else table.model.model_validate_json(body)


def _check_events_of(commit: Commit, change: Change, before: Any, after: Any) -> None:
    """Check that a change is committed together with the events that it requires."""
    for owed, subject in OWED[change.collection](before, after):
        reported = any(event.type == owed and event.subject == subject for event in commit.events)
        require_promise(reported, "no event is lost", f"{subject} changed without {owed}")


def _contract(seen: Observations, before: ContractRow | None, row: ContractRow) -> None:
    contract_id, verification = row.contract_id, row.state.verification
    used = verification.attempts_used
    earlier = seen.attempts.get(contract_id, 0)
    require_promise(used >= earlier, "no attempt is uncounted", f"{contract_id} went from {earlier} to {used}")
    require_promise(
        used <= verification.max_attempts, "attempts stay within their budget", f"{contract_id} used {used}"
    )
    judged = len(verification.judged)
    require_promise(
        used == judged, "every attempt is a judged candidate", f"{contract_id}: {used} used, {judged} judged"
    )
    seen.attempts[contract_id] = used
    if before is not None:
        require_promise(
            not before.state.is_final, "no final record ever changes", f"{contract_id} was {before.state.status}"
        )
        _expired(before.state, row.state)
        _held(seen, before, row)
    if row.state.is_final:
        seen.finals[contract_id] = row.state.status
    seen.contracts[contract_id] = row


def _held(seen: Observations, before: ContractRow, row: ContractRow) -> None:
    """Check that a held contract changes only by an operator's decision, once, and as decided."""
    was, now = (each.state.status is ContractStatus.HELD for each in (before, row))
    if now and not was:
        seen.held.add(str(row.state.current_attempt))
    if not was or now:
        return
    attempt_id = str(before.state.current_attempt)
    require_promise(
        attempt_id not in seen.released, "a decision is carried out once", f"{attempt_id} was released twice"
    )
    seen.released.add(attempt_id)
    hold = seen.holds.get(attempt_id)
    decided = hold is not None and hold.status is HoldStatus.DECIDED
    require_promise(decided, "what is held waits for an operator", f"{row.contract_id} left without a decision")
    require_promise(
        hold is not None and _obeys(hold, before, row), "an operator's decision stands", f"{row.contract_id}"
    )


def _expired(before: ContractState, state: ContractState) -> None:
    """Check that no deadline expires before the time agreed at the award."""
    who = state.contract_id
    require_promise(state.deadline == before.deadline, "a deadline stays as it was agreed", who)
    closes = ContractStatus.EXPIRED in {state.status, state.closing} and before.closing is not ContractStatus.EXPIRED
    require_promise(not closes or state.updated_at >= state.deadline, "nothing expires before its deadline", who)


def _obeys(hold: Hold, before: ContractRow, row: ContractRow) -> bool:
    if hold.decision is Decision.RETRY:
        return row.state.status is ContractStatus.VERIFYING and row.state.current_attempt != hold.attempt_id
    released = before.state.closing or ContractStatus.PASSED
    return row.state.status is (released if hold.decision is Decision.RELEASE else ContractStatus.FAILED)


def _attempt(seen: Observations, before: AttemptRow | None, row: AttemptRow) -> None:
    kept = before is None or not before.counted or row.counted
    require_promise(kept, "no attempt is uncounted", f"{row.attempt_id} counts no longer")
    contract = seen.contracts.get(row.contract_id)
    in_time = before is not None or contract is None or row.received_at <= contract.state.deadline
    require_promise(in_time, "nothing is taken in after the deadline", f"{row.attempt_id} of {row.contract_id}")


def _hold(seen: Observations, before: Hold | None, hold: Hold) -> None:
    undecided = before is None or before.status is HoldStatus.WAITING or before == hold
    require_promise(undecided, "each hold is decided once", f"{hold.hold_id} was decided twice")
    seen.holds[hold.attempt_id] = hold


def _validation(seen: Observations, _: ValidationRecord | None, validation: ValidationRecord) -> None:
    seen.words.setdefault(validation.request.contract_id, set()).add(validation.decision.action)


def _transaction(seen: Observations, _: LedgerTransaction | None, posted: LedgerTransaction) -> None:
    sums: dict[str, int] = {}
    for posting in posted.postings:
        sums[posting.currency] = sums.get(posting.currency, 0) + posting.amount
        seen.sums[posting.currency] = seen.sums.get(posting.currency, 0) + posting.amount
    require_promise(not any(sums.values()), "postings sum to zero", f"{posted.id} sums to {sums}")
    require_promise(not any(seen.sums.values()), "postings sum to zero", f"the trial balance is {seen.sums}")
    if posted.contract_id is None:
        return
    accounts = seen.posted_sums.setdefault(posted.contract_id, {})
    for posting in posted.postings:
        accounts[posting.account] = accounts.get(posting.account, 0) + posting.amount
    stands = seen.effective.get(posted.contract_id, 0)
    stands += {TransactionKind.SETTLEMENT: 1, TransactionKind.REVERSAL: -1}.get(posted.kind, 0)
    require_promise(stands <= 1, "a contract is settled at most once", f"{posted.contract_id} was settled twice")
    require_promise(stands >= 0, "only an effective settlement is reversed", f"{posted.contract_id} was reversed twice")
    seen.effective[posted.contract_id] = stands


def _settlement(seen: Observations, before: Settlement | None, settlement: Settlement) -> None:
    contract_id = settlement.contract_id
    if before is None:
        check_settlement(seen, settlement)
    else:
        *done, last = before.revisions
        require_promise(last.reversed_at is None, "no final record ever changes", f"{contract_id} is reversed already")
        taken_back = {"reversed_at": None, "reason": None, "by": None}
        repeated = [each.model_copy(update=taken_back) for each in settlement.revisions[len(done) : len(done) + 1]]
        kept = settlement.revisions[: len(done)] == tuple(done) and repeated == [last]
        require_promise(kept, "no final record ever changes", f"a revision of {contract_id}'s settlement did")
    stands = settlement.status is SettlementStatus.SETTLED
    posted = seen.effective.get(contract_id, 0) == 1
    require_promise(stands is posted, "settlement and ledger agree", f"{contract_id} is {settlement.status}")
    check_posted(settlement, seen.posted_sums.get(contract_id, {}))
    seen.settlements[contract_id] = settlement


def _given_up(seen: Observations, service: str, letter: DeadLetter) -> None:
    """Check that a valid message becomes a dead letter only after many completed deliveries."""
    sound = (service, letter.event_id) in seen.poison or letter.reason.endswith("deliveries had no result")
    require_promise(sound, "only poison is given up on", f"{service} {letter.topic}: {letter.reason}")


_CHECKED: tuple[tuple[Table[Any], Callable[[Observations, Any, Any], None]], ...] = (
    (WORKS, lambda _seen, _before, _after: None),
    (AWARDS, lambda _seen, _before, _after: None),
    (CONTRACTS, _contract),
    (ATTEMPTS, _attempt),
    (OUTCOMES, check_outcome),
    (HOLDS, _hold),
    (VALIDATIONS, _validation),
    (TRANSACTIONS, _transaction),
    (SETTLEMENTS, _settlement),
)
_CHECKS = {table.collection.name: (table, check) for table, check in _CHECKED}

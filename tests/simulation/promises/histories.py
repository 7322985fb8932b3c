"""Records of a closed contract agree with its end: events, attempts, final result."""

from aex_models.contract import AttemptStatus
from aex_models.contract_events import ENDINGS
from aex_models.governance import DecidedBy
from aex_models.outcome import OutcomeRecord
from aex_runtime.store.port import Store
from aex_verification.repository import ATTEMPTS, EVENTS
from aex_verification.rules.records import AttemptRow, ContractRow

ALL = 200


async def check_history(store: Store, row: ContractRow) -> None:
    """Check that the events and attempts of a closed contract agree with its end."""
    await _check_events(store, row)
    for attempt in await attempts_of(store, row.contract_id):
        if attempt.status is AttemptStatus.INVALID:
            _check_invalid(row, attempt)
    counted = [each.attempt_id for each in await attempts_of(store, row.contract_id) if each.counted]
    assert len(counted) == row.state.verification.attempts_used, f"{counted} are counted"


def check_final_result(outcome: OutcomeRecord, verifier: str | None) -> None:
    """Check that a final result was accepted by a verdict or an operator."""
    result = outcome.verification_result
    if verifier is None or result is None or result.governance.decided_by is DecidedBy.OPERATOR:
        return
    if not result.success or verifier == "nothing":
        assert outcome.final_result is None, f"{outcome.contract_id} has {outcome.final_result}"
        return
    title = outcome.final_result["title"]
    assert not any(mood in title for mood in ("Dull", "Hopeless", "Crash")), f"{title} was let through"


async def attempts_of(store: Store, contract_id: str) -> list[AttemptRow]:
    """Return the attempts of a contract, oldest first."""
    found = await ATTEMPTS.find(store, {"contract_id": contract_id}, "created_at", limit=ALL)
    return [each.record for each in found]


async def _check_events(store: Store, row: ContractRow) -> None:
    found = await EVENTS.find(store, {"contract_id": row.contract_id}, "seq", limit=ALL)
    events = [each.record for each in found]
    assert [each.seq for each in events] == list(range(1, row.events + 1)), "events are numbered without a gap"
    endings = [each.type for each in events if each.type in ENDINGS.values()]
    assert endings == [ENDINGS[row.state.status]], f"{row.contract_id} ends with {endings}"
    assert events[-1].type is endings[0], "no event follows the end"
    used = [each.attempts_used for each in events]
    assert used == sorted(used), "an attempt was uncounted"


def _check_invalid(row: ContractRow, attempt: AttemptRow) -> None:
    assert (attempt.counted, attempt.verdict, attempt.result) == (False, None, None), "an invalid output was judged"
    assert attempt.errors, "it has no error"
    assert attempt.attempt_id not in {each.attempt_id for each in row.state.verification.judged.values()}

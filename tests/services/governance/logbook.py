"""Records of the log, made by hand, and projections folded from them in one go."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from aex_governance.handlers.rebuild.draft import Draft
from aex_governance.rules.projection.records import LogRecord, OutcomeEntry, ValidationRecord
from aex_models.governance import Action, Flag, Severity, ValidationDecision
from aex_runtime.store.port import Store, Transaction
from tests.services.governance.asking import NOW, asked


def validated(
    number: int, action: Action = Action.ALLOW, flags: tuple[str, ...] = (), **changes: Any
) -> ValidationRecord:
    """The record of a validated attempt, less what the test changes in its request."""
    names = {"attempt_id": f"att_{number}", "contract_id": f"ctr_{number}", "work_id": f"work_{number}"}
    raised = tuple(Flag(rule=rule, severity=Severity.MAJOR) for rule in flags)
    decision = ValidationDecision(valid=action is Action.ALLOW, action=action, flags=raised)
    return ValidationRecord(
        request=asked(**(names | changes)), decision=decision, decided_at=NOW + timedelta(seconds=number)
    )


def ended(number: int, final_status: str = "passed", **changes: Any) -> OutcomeEntry:
    """The record of how a contract ended."""
    plain: dict[str, Any] = {
        "contract_id": f"ctr_{number}",
        "agent_id": "bot",
        "consumer_id": "acme",
        "domain": "general",
        "final_status": final_status,
        "success": final_status == "passed",
        "occurred_at": NOW,
    }
    return OutcomeEntry.model_validate(plain | changes)


async def fold(store: Store, records: Iterable[LogRecord], generation: int = 1) -> None:
    """Put what the records add into a generation of projections, in transactions of a few."""
    draft = Draft(generation)
    for record in records:
        draft.take(record)
        if len(draft) > 400:
            await _write(store, draft)
            draft = Draft(generation)
    await _write(store, draft)


async def _write(store: Store, draft: Draft) -> None:
    async def write(transaction: Transaction) -> None:
        for table, key, document in await draft.read(transaction):
            transaction.put(table.collection, key, *table.encode(document))

    await store.transact(write)

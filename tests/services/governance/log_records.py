"""Builders of log records, and projections folded from them."""

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from aex_governance.handlers.fold_log import ProjectionChanges
from aex_governance.rules.projection_documents import LogRecord, OutcomeEntry, ValidationRecord
from aex_models.governance import Action, Flag, Severity, ValidationDecision
from aex_runtime.store.port import Store, Transaction
from tests.services.governance.requests import NOW, validation_request


def validation_entry(
    number: int, action: Action = Action.ALLOW, flags: tuple[str, ...] = (), **changes: Any
) -> ValidationRecord:
    names = {"attempt_id": f"att_{number}", "contract_id": f"ctr_{number}", "work_id": f"work_{number}"}
    all_flags = tuple(Flag(rule=rule, severity=Severity.MAJOR) for rule in flags)
    decision = ValidationDecision(valid=action is Action.ALLOW, action=action, flags=all_flags)
    return ValidationRecord(
        request=validation_request(**(names | changes)), decision=decision, decided_at=NOW + timedelta(seconds=number)
    )


def outcome_entry(number: int, final_status: str = "passed", **changes: Any) -> OutcomeEntry:
    plain: dict[str, Any] = {
        **{"contract_id": f"ctr_{number}", "agent_id": "bot", "consumer_id": "acme", "domain": "general"},
        **{"final_status": final_status, "success": final_status == "passed", "occurred_at": NOW},
    }
    return OutcomeEntry.model_validate(plain | changes)


async def fold(store: Store, records: Iterable[LogRecord], generation: int = 1) -> None:
    """Fold the records into a generation of projections, in small transactions."""

    async def write(transaction: Transaction) -> None:
        for table, key, document in await draft.build_merged_documents(transaction):
            transaction.put(table.collection, key, *table.encode(document))

    left = list(records)
    while left:
        draft = ProjectionChanges(generation)
        while left and len(draft) <= 400:
            draft.add(left.pop(0))
        await store.transact(write)

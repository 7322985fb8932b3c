"""Which of the rows that wait can be sealed: those whose transactions are what was committed."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from aex_runtime.store.keys import key_of
from aex_runtime.store.port import Document, Store
from aex_settlement.handlers.journal.turns import in_turns
from aex_settlement.repository.journal import Waiting
from aex_settlement.repository.sealed import as_sealed, transaction_documents
from aex_settlement.rules.batching import Candidate
from aex_settlement.rules.journal import SealedTransaction


class Refusal(NamedTuple):
    """A row that stays."""

    name: str
    """The transaction's id; the row's key where that cannot be read."""
    reason: str
    occurred_at: datetime


async def examine(store: Store, page: Sequence[Waiting]) -> list[Candidate | Refusal]:
    """What is to become of each row, in their order. Raises `StoreUnavailable`."""
    readable = [row.record.id for row in page if row.record is not None]
    documents = dict(zip(readable, await transaction_documents(store, readable) if readable else (), strict=True))

    def look(row: Waiting) -> Candidate | Refusal:
        return _examined(row, documents.get(row.record.id) if row.record else None)

    return await in_turns(look, page)


def _examined(row: Waiting, document: Document | None) -> Candidate | Refusal:
    record = row.record
    if record is None or key_of(record.id) != row.document.key:
        return Refusal(record.id if record else row.document.key, "its row was altered", row.occurred_at)
    sealed = SealedTransaction(id=record.id, digest=record.digest)
    found = as_sealed(sealed, document)
    if isinstance(found, str):
        return Refusal(record.id, found, row.occurred_at)
    return Candidate(row.document.key, sealed, found)

"""Which of the rows that wait can be sealed: those whose transactions are all what was committed."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from aex_models.settlement import LedgerTransaction
from aex_runtime.store.keys import key_of
from aex_runtime.store.port import Document, Store
from aex_settlement.handlers.journal.turns import in_turns
from aex_settlement.repository.journal import Waiting
from aex_settlement.repository.sealed import as_sealed, transaction_documents
from aex_settlement.rules.batching import Candidate
from aex_settlement.rules.journal import Unsealed


class Refusal(NamedTuple):
    """A row that stays."""

    reasons: dict[str, str]
    """For each of its transactions, by id, why; by the row's key where the row cannot be read."""
    occurred_at: datetime


async def examine(store: Store, page: Sequence[Waiting]) -> list[Candidate | Refusal]:
    """What is to become of each row, in their order. Raises `StoreUnavailable`."""
    ids = [each.id for row in page if row.record is not None for each in row.record.transactions]
    documents = dict(zip(ids, await transaction_documents(store, ids) if ids else (), strict=True))
    return await in_turns(lambda row: _examined(row, documents), page)


def _examined(row: Waiting, documents: Mapping[str, Document | None]) -> Candidate | Refusal:
    record = row.record
    if record is None or key_of(record.leader) != row.document.key:
        return Refusal({record.leader if record else row.document.key: "its row was altered"}, row.occurred_at)
    found = [as_sealed(each, documents[each.id]) for each in record.transactions]
    whole = tuple(each for each in found if not isinstance(each, str))
    if len(whole) < len(found):
        return Refusal(_reasons(record, found), row.occurred_at)
    return Candidate(row.document.key, record.transactions, whole)


def _reasons(record: Unsealed, found: Sequence[LedgerTransaction | str]) -> dict[str, str]:
    """Why none of them is sealed, where one is not as it was committed: they are sealed as one, or not at all."""
    wrong = {each.id: why for each, why in zip(record.transactions, found, strict=True) if isinstance(why, str)}
    first = next(iter(wrong))
    return {
        each.id: wrong.get(each.id, f"it was committed with {first}: {wrong[first]}") for each in record.transactions
    }

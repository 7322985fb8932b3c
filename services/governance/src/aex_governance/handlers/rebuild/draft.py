"""What a part of a log adds to the projections, summed up before anything is written."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from aex_governance.repository.projections import TABLES, projected_key
from aex_governance.rules.projection.documents import Projected
from aex_governance.rules.projection.increments import apply, increments
from aex_governance.rules.projection.merging import merged
from aex_governance.rules.projection.records import LogRecord
from aex_runtime.store.port import Transaction
from aex_runtime.store.table import Table


class Draft:
    """Changes by table and key: one for each document, however many records add to it."""

    def __init__(self, generation: int) -> None:
        self._generation = generation
        self._changes: dict[type[Projected], dict[str, Projected]] = {}

    def __len__(self) -> int:
        """How many documents it changes."""
        return sum(map(len, self._changes.values()))

    def take(self, record: LogRecord) -> None:
        """Add what this record adds."""
        for each in increments(record):
            changes = self._changes.setdefault(each.kind, {})
            key = projected_key(self._generation, each.place)
            changes[key] = apply(changes.get(key), each)

    async def read(self, transaction: Transaction) -> list[tuple[Table[Any], str, Projected]]:
        """The documents as they will be: what is stored with the changes."""
        return [
            document for kind, changes in self._changes.items() for document in await _read(transaction, kind, changes)
        ]


async def _read(
    transaction: Transaction, kind: type[Projected], changes: Mapping[str, Projected]
) -> list[tuple[Table[Any], str, Projected]]:
    table: Table[Any] = TABLES[kind]
    stored: Iterable[Projected | None] = await table.get_many(transaction, list(changes))
    return list(_each(table, changes, stored))


def _each(
    table: Table[Any], changes: Mapping[str, Projected], stored: Iterable[Projected | None]
) -> Iterator[tuple[Table[Any], str, Projected]]:
    for (key, change), document in zip(changes.items(), stored, strict=True):
        yield table, key, change if document is None else merged(document, change)

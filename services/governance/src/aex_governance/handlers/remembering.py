"""Adding a record of the log to the projections, in the transaction that writes it."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from aex_governance.repository.projections import TABLES, projected_key
from aex_governance.rules.projection.documents import Projected
from aex_governance.rules.projection.increments import Increment, apply
from aex_runtime.store.table import Stored
from aex_runtime.unit_of_work import Unit

Place = tuple[type[Projected], str]


@dataclass(frozen=True, slots=True)
class Remembered:
    """The documents that a record adds to, as they are, by type and key."""

    documents: Mapping[Place, Stored[Any] | None]

    def of(self, kind: type[Projected], generation: int) -> list[Any]:
        """The records of one type in one generation."""
        start = projected_key(generation, "")
        return [
            stored.record
            for (type_, key), stored in self.documents.items()
            if stored is not None and type_ is kind and key.startswith(start)
        ]


async def recall(unit: Unit, additions: Sequence[Increment], generations: Sequence[int]) -> Remembered:
    """Read what the record adds to: all collections at once."""
    wanted: dict[type[Projected], list[str]] = {}
    for generation in generations:
        for each in additions:
            wanted.setdefault(each.kind, []).append(projected_key(generation, each.place))
    found = await asyncio.gather(*(unit.get_many(TABLES[kind], keys) for kind, keys in wanted.items()))
    pairs = zip(wanted.items(), found, strict=True)
    return Remembered(
        {(kind, key): stored for (kind, keys), some in pairs for key, stored in zip(keys, some, strict=True)}
    )


def remember(unit: Unit, remembered: Remembered, additions: Sequence[Increment], generations: Sequence[int]) -> None:
    """Write what the record adds, in every generation. What would stay as it is, is not written."""
    for generation in generations:
        for each in additions:
            key = projected_key(generation, each.place)
            stored = remembered.documents[each.kind, key]
            record = apply(stored.record if stored else None, each)
            if stored is None:
                unit.create(TABLES[each.kind], key, record)
            elif record != stored.record:
                unit.update(TABLES[each.kind], stored, record)

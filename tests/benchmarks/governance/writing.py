"""A writer of a history: draws its share of the contracts and writes down in a file of its own what they leave.

Records and increments are the service's own; nothing is merged here but the few documents that nearly every record
adds to.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from aex_governance.repository.log import OUTCOMES, VALIDATIONS
from aex_governance.repository.projections import TABLES, projected_key
from aex_governance.rules.bounds import logged
from aex_governance.rules.projection.documents import DomainShard, PaceShard, ProfileShard, Projected
from aex_governance.rules.projection.increments import Increment, apply, increments
from aex_governance.rules.projection.records import LogRecord, OutcomeEntry, ValidationRecord
from aex_governance.rules.sketch import encoded
from aex_governance.rules.text import read_text
from aex_runtime.store.keys import key_of
from tests.benchmarks.governance.drawing import Drawing, Drawn

GENERATION = 1
_AT_ONCE = 2_000
Row = tuple[str, str, bytes]
"""Collection, key, body: none of these collections has index fields."""
_SUMMED = (ProfileShard, DomainShard)


def records_of(drawn: Drawn) -> tuple[ValidationRecord, OutcomeEntry]:
    """What the service would have logged of this contract."""
    text = read_text(drawn.request.output_text or "")
    validation = ValidationRecord(
        request=logged(drawn.request),
        decision=drawn.decision,
        decided_at=drawn.decided_at,
        is_free=text.is_free,
        sketch=encoded(text.sketch) if text.sketch else None,
        generations=(GENERATION,),
    )
    return validation, OutcomeEntry.model_validate({**drawn.outcome, "generations": (GENERATION,)})


def write_share(file: Path, first: int, step: int, contracts: int) -> None:
    """The contracts `first`, `first` + `step`, … below `contracts`, into a new file."""
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = OFF")
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("CREATE TABLE rows (collection TEXT, key TEXT, body BLOB)")
        share = _Share()
        drawing = Drawing(contracts)
        rows: list[Row] = []
        for number in range(first, contracts, step):
            rows += share.rows(drawing.contract(number))
            if len(rows) >= _AT_ONCE:
                _insert(connection, rows)
                rows = []
        _insert(connection, [*rows, *share.summed()])


def _insert(connection: sqlite3.Connection, rows: list[Row]) -> None:
    connection.execute("BEGIN")
    connection.executemany("INSERT INTO rows VALUES (?, ?, ?)", rows)
    connection.execute("COMMIT")


class _Share:
    """What was drawn so far comes to, where that is one document for many records."""

    def __init__(self) -> None:
        self._sums: dict[tuple[type[Projected], str], Projected] = {}

    def rows(self, drawn: Drawn) -> Iterator[Row]:
        """All that this contract leaves behind but what is summed up."""
        validation, outcome = records_of(drawn)
        yield (VALIDATIONS.collection.name, key_of(validation.request.attempt_id), VALIDATIONS.encode(validation)[0])
        yield (OUTCOMES.collection.name, key_of(outcome.contract_id), OUTCOMES.encode(outcome)[0])
        records: tuple[LogRecord, ...] = (validation, outcome)
        for record in records:
            yield from self._added(increments(record))

    def summed(self) -> Iterator[Row]:
        """The rest."""
        for (kind, place), document in self._sums.items():
            yield _row(kind, place, _encoded(document))

    def _added(self, additions: tuple[Increment, ...]) -> Iterator[Row]:
        last: Projected | None = None
        body = b""
        for each in additions:
            if isinstance(each.change, _SUMMED):
                place = (each.kind, each.place)
                self._sums[place] = apply(self._sums.get(place), each)
                continue
            if isinstance(each.change, PaceShard) or each.change != last:  # a text's bands all hold the same
                last, body = each.change, _encoded(each.change)
            yield _row(each.kind, each.place, body)


def _encoded(document: Projected) -> bytes:
    table: Any = TABLES[type(document)]
    body: bytes = table.encode(document)[0]
    return body


def _row(kind: type[Projected], place: str, body: bytes) -> Row:
    return TABLES[kind].collection.name, projected_key(GENERATION, place), body

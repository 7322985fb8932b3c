"""A history of any size: log records written in bulk, projections made by the service's own rebuild."""

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from hashlib import sha256
from pathlib import Path

from aex_governance.handlers.fold_log import Rebuilder
from aex_governance.handlers.rebuild import rebuild_projections
from aex_governance.repository import OUTCOMES, TABLES, VALIDATIONS
from aex_governance.rules.evidence import truncate_request_for_log
from aex_governance.rules.projection_documents import OutcomeEntry, ValidationRecord
from aex_governance.text.free_text import analyze_text, encode_sketch
from aex_runtime.clock import WallClock
from aex_runtime.ids import RandomIds
from aex_runtime.store.port import key_of
from aex_runtime.store.sqlite import SQLiteStore
from tests.benchmarks.governance.drawing import Drawing
from tests.benchmarks.harness import print_line

_INSERT = "INSERT INTO documents (collection, key, version, fields, body) VALUES (?, ?, 1, '{}', ?)"


def store_file(folder: Path) -> Path:
    """Return the file of a governance service on this data directory."""
    return folder / "governance" / "store.sqlite3"


async def make_history(folder: Path, contracts: int) -> None:
    """Write so many validated and ended contracts into an empty folder."""
    file = store_file(folder)
    store = SQLiteStore(file)
    await store.ping()
    await store.close()
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("BEGIN")
        connection.executemany(_INSERT, _draw_log(contracts))
        connection.execute("UPDATE latest SET version = 1")
        connection.execute("COMMIT")
    await rebuild(folder)


def _draw_log(contracts: int) -> Iterator[tuple[str, str, bytes]]:
    """Yield the collection, key and body of each log record."""
    drawing = Drawing(contracts)
    for number in range(contracts):
        request, decision, fields = drawing.contract(number)
        text = analyze_text(request.output_text or "")
        validation = ValidationRecord(
            request=truncate_request_for_log(request),
            decision=decision,
            decided_at=request.received_at,
            is_free=text.is_free,
            sketch=encode_sketch(text.sketch) if text.sketch else None,
            generations=(),
        )
        outcome = OutcomeEntry.model_validate({**fields, "generations": ()})
        yield VALIDATIONS.collection.name, key_of(validation.request.attempt_id), VALIDATIONS.encode(validation)[0]
        yield OUTCOMES.collection.name, key_of(outcome.contract_id), OUTCOMES.encode(outcome)[0]


async def rebuild(folder: Path) -> None:
    """Rebuild the projections from the log and print the throughput."""
    store, begin = SQLiteStore(store_file(folder)), time.perf_counter()
    try:
        result = await rebuild_projections(Rebuilder(store, WallClock(), RandomIds(), lambda *_: None))
    finally:
        await store.close()
    seconds, records = time.perf_counter() - begin, sum(mark.read for mark in result.logs.values())
    print_line(f"{folder.name}: {records:,} records rebuilt in {seconds:,.1f} s, {records / seconds:,.0f} records/s")


def projection_digest(file: Path) -> str:
    """Return a hash of all projections without their generation; equal projections have equal bodies."""
    digest = sha256()
    names = [table.collection.name for table in TABLES.values()]
    sql = (
        "SELECT collection, substr(key, instr(key, '-') + 1) AS suffix, body FROM documents"
        " WHERE collection IN (SELECT value FROM json_each(?)) ORDER BY collection, suffix"
    )
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
        for collection, suffix, body in connection.execute(sql, (json.dumps(names),)):
            digest.update(f"{collection}\n{suffix}\n{len(body)}\n".encode() + body)
    return digest.hexdigest()

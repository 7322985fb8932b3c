"""A history of a wanted size in a store's own file, made in bulk.

Writers draw the contracts side by side; then all that they left is read in the order of its keys, what adds to one
document is merged as the service merges it, and every document is written once.
"""

import asyncio
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import reduce
from itertools import groupby
from multiprocessing import get_context
from operator import itemgetter
from pathlib import Path
from typing import Any

from aex_governance.repository.projections import TABLES
from aex_governance.rules.projection.merging import merged
from aex_runtime.store.sqlite import SQLiteStore
from tests.benchmarks.governance.writing import Row, write_share

Say = Callable[[str], None]
WRITERS = 2
_BY_NAME: dict[str, Any] = {table.collection.name: table for table in TABLES.values()}
_INSERT = "INSERT INTO documents (collection, key, version, fields, body) VALUES (?, ?, 1, '{}', ?)"


def store_file(folder: Path) -> Path:
    """Where a governance service on this data directory keeps its records."""
    return folder / "governance" / "store.sqlite3"


def make_history(folder: Path, contracts: int, say: Say) -> None:
    """So many contracts, validated and over. The folder holds nothing yet."""
    scratch = folder / "scratch"
    scratch.mkdir(parents=True)
    parts = [scratch / f"part-{number}.sqlite3" for number in range(WRITERS)]
    context = get_context("spawn")
    writers = [
        context.Process(target=write_share, args=(part, number, WRITERS, contracts))
        for number, part in enumerate(parts)
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    if any(writer.exitcode for writer in writers):
        raise RuntimeError("a writer failed")
    say(f"{contracts:,} contracts drawn")
    asyncio.run(_laid_out(store_file(folder)))
    documents = _merged_into(store_file(folder), parts)
    say(f"{documents:,} documents written, {store_file(folder).stat().st_size / 1e6:,.0f} MB")
    shutil.rmtree(scratch)


async def _laid_out(file: Path) -> None:
    store = SQLiteStore(file)
    await store.ping()
    await store.close()


def _merged_into(file: Path, parts: list[Path]) -> int:
    """How many documents there are then."""
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA cache_size = -400000")
        for number, part in enumerate(parts):
            connection.execute(f"ATTACH ? AS part{number}", (str(part),))
        every = " UNION ALL ".join(f"SELECT collection, key, body FROM part{n}.rows" for n in range(len(parts)))  # noqa: S608
        rows = connection.execute(f"SELECT * FROM ({every}) ORDER BY collection, key")  # noqa: S608
        connection.execute("BEGIN")
        connection.executemany(_INSERT, _documents(rows))
        connection.execute("UPDATE latest SET version = 1")
        connection.execute("COMMIT")
        [(count,)] = connection.execute("SELECT count(*) FROM documents").fetchall()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    return int(count)


def _documents(rows: Iterator[Row]) -> Iterator[Row]:
    """Each document once: most have a single part, which is written as it is."""
    for (collection, key), group in groupby(rows, key=itemgetter(0, 1)):
        bodies = [body for _, _, body in group]
        if len(bodies) == 1:
            yield collection, key, bodies[0]
            continue
        table = _BY_NAME[collection]
        whole = reduce(merged, (table.model.model_validate_json(body) for body in bodies))
        yield collection, key, table.encode(whole)[0]

"""All projected documents of a store in one number, whatever generation they are of."""

import sqlite3
from contextlib import closing
from hashlib import sha256
from pathlib import Path

from aex_governance.repository.projections import TABLES

_DOCUMENTS = (
    "SELECT collection, substr(key, instr(key, '-') + 1) AS place, body FROM documents"
    " WHERE collection IN ({}) ORDER BY collection, place"
)


def digest(file: Path) -> str:
    """Of collections, places and bodies: equal for equal projections, since bodies are canonical."""
    names = [table.collection.name for table in TABLES.values()]
    whole = sha256()
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as connection:
        query = _DOCUMENTS.format(", ".join("?" * len(names)))
        for collection, place, body in connection.execute(query, names):
            whole.update(f"{collection}\n{place}\n{len(body)}\n".encode() + body)
    return whole.hexdigest()

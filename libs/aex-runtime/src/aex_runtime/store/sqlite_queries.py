"""The SQL of reads: documents by key, and queries that seek in the index which serves them.

A declared index is an expression index over the documents of one collection. SQLite keeps it, for whichever process
writes, and builds it over what was written before it was declared.
"""

import json
import sqlite3
from collections.abc import Iterator, Sequence

from aex_runtime.store.order import Rank, rank
from aex_runtime.store.port import Collection, Document, Fields, Index, Query, Scalar
from aex_runtime.store.ranges import Edge, edges_of, outside, tighter_high, tighter_low

# SQL has no booleans; as reals below every integer they keep their place in the order and stay distinct from 0 and 1.
_FALSE, _TRUE = -2e300, -1e300
_COMPARED = {1, 2, 3}  # the types in an index; an edge beyond them is none
_COLUMNS = "key, body, fields, version"
Step = tuple[str, tuple[Scalar | float, ...]]
"""One statement with its values, but for the limit, which comes last."""


def encode_fields(fields: Fields) -> str:
    """Index fields as the JSON text that the indexes look into."""
    return json.dumps({name: encode(value) for name, value in fields.items()}, ensure_ascii=False)


def encode(value: Scalar) -> str | float | None:
    """An index value as SQLite compares it."""
    if isinstance(value, bool):
        return _TRUE if value else _FALSE
    return value


def select(connection: sqlite3.Connection, collection: str, key: str) -> Document | None:
    """The document, or None."""
    sql = f"SELECT {_COLUMNS} FROM documents WHERE collection = ? AND key = ?"  # noqa: S608 columns are ours
    try:
        found = connection.execute(sql, (collection, key)).fetchall()
    except UnicodeEncodeError:  # a key with lone surrogates, which limits.py lets nobody write
        return None
    return _document(found[0]) if found else None


def select_many(connection: sqlite3.Connection, collection: str, keys: Sequence[str]) -> list[Document | None]:
    """The documents in the order of the keys, all of one moment."""
    sql = f"SELECT {_COLUMNS} FROM documents WHERE collection = ? AND key IN (SELECT value FROM json_each(?))"  # noqa: S608
    found = {row[0]: _document(row) for row in connection.execute(sql, (collection, json.dumps(list(keys))))}
    return [found.get(key) for key in keys]


def index_name(collection: Collection, index: Index) -> str:
    """The SQL identifier of an index, readable in a query plan."""
    return _quote(f"{collection.name} by {', '.join((*index.equal, index.order or 'key'))}", '"')


def index_sql(collection: Collection) -> Iterator[str]:
    """The statements that make a collection's indexes where they are missing.

    Direction needs none of its own: SQLite reads an index both ways.
    """
    for index in collection.indexes:
        if index.equal or index.order:
            columns = [_field(name) for name in (*index.equal, *((index.order,) if index.order else ()))]
            yield (
                f"CREATE INDEX IF NOT EXISTS {index_name(collection, index)}"
                f" ON documents ({', '.join((*columns, 'key'))}) WHERE {_scope(collection, index)}"
            )


def select_query(connection: sqlite3.Connection, query: Query) -> list[Document]:
    """The documents of a query. Its index exists."""
    steps = list(steps_of(query))
    if len(steps) == 1:
        return _fetch(connection, steps[0], query.limit)
    found: list[Document] = []
    connection.execute("BEGIN")  # the steps of a page see one moment
    try:
        for step in steps:
            if len(found) < query.limit:
                found += _fetch(connection, step, query.limit - len(found))
    finally:
        connection.execute("COMMIT")
    return found


def _fetch(connection: sqlite3.Connection, step: Step, limit: int) -> list[Document]:
    sql, values = step
    return [_document(row) for row in connection.execute(sql, (*values, limit)).fetchall()]


def steps_of(query: Query) -> Iterator[Step]:
    """The statements (without the limit's value) whose results, one after the other, answer the query.

    A page that starts behind a document takes two, so that both are seeks: the rest of those with the same ordered
    value, then those beyond it. (SQLite does not seek with a row value on an expression.)
    """
    low, high = edges_of(query.bounds)
    if query.after is None:
        yield _statement(query, low, high)
        return
    value, key = query.after
    further = ">" if query.direction == "asc" else "<"
    if query.order is None:
        yield _statement(query, None, None, key=(further, key))
        return
    if value is None:  # it stands before all that is in the index
        if query.direction == "asc":
            yield _statement(query, low, high)
        return
    same = Edge(rank(value), inclusive=True)
    beyond = Edge(rank(value), inclusive=False)
    if not outside(same, low, high):
        yield _statement(query, same, same, key=(further, key))
    if query.direction == "asc":
        yield _statement(query, tighter_low(beyond, low), high)
    else:
        yield _statement(query, low, tighter_high(beyond, high))


def _statement(query: Query, low: Edge | None, high: Edge | None, key: tuple[str, str] | None = None) -> Step:
    index = query.index()
    terms, values = [_scope(query.collection, index)], list[Scalar | float]()
    for name in index.equal:
        value = query.equal[name]
        terms.append(f"{_field(name)} IS NULL" if value is None else f"{_field(name)} = ?")
        values += [] if value is None else [encode(value)]
    pinned = low is not None and low == high and low.inclusive
    for edge, sign in _signed(low, high):
        if edge.value[0] in _COMPARED:
            terms.append(f"{_field(query.order or '')} {sign} ?")
            values.append(_bound(edge.value))
    if key is not None:
        terms.append(f"key {key[0]} ?")
        values.append(key[1])
    by = "" if not (index.equal or index.order) else f" INDEXED BY {index_name(query.collection, index)}"
    by_field = [_field(query.order)] if query.order and not pinned else []  # SQLite would sort by what is all equal
    order = [f"{column} {query.direction}" for column in (*by_field, "key")]
    sql = f"SELECT {_COLUMNS} FROM documents{by} WHERE {' AND '.join(terms)} ORDER BY {', '.join(order)} LIMIT ?"  # noqa: S608
    return sql, tuple(values)


def _signed(low: Edge | None, high: Edge | None) -> Iterator[tuple[Edge, str]]:
    if low is not None and low == high and low.inclusive:
        yield low, "="  # an equality, so that the key behind it can be sought too
        return
    if low is not None:
        yield low, ">=" if low.inclusive else ">"
    if high is not None:
        yield high, "<=" if high.inclusive else "<"


def _bound(value: Rank) -> Scalar | float:
    return encode(bool(value[1])) if value[0] == 1 else value[1]


def _scope(collection: Collection, index: Index) -> str:
    """Which documents an index holds. Literals, not parameters: only so does SQLite see that a query is covered."""
    scope = f"collection = {_quote(collection.name, chr(39))}"
    return f"{scope} AND {_field(index.order)} IS NOT NULL" if index.order else scope


def _field(name: str) -> str:
    return f"json_extract(fields, '$.{name}')"  # names are identifiers: limits.py refuses others


def _quote(text: str, mark: str) -> str:
    return mark + text.replace(mark, mark * 2) + mark


def _document(row: tuple[str, bytes, str, int]) -> Document:
    key, body, fields, version = row
    return Document(key, body, json.loads(fields, parse_float=_boolean) if fields != "{}" else {}, version)


def _boolean(text: str) -> bool:
    return float(text) == _TRUE

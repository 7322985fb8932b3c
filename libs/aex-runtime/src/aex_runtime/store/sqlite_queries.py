"""The SQL statements that read documents, by key or by a query.

A declared index is an SQLite index over expressions, limited to the documents of its collection. SQLite builds it over
existing documents and maintains it for all processes.
"""

import json
import sqlite3
from collections.abc import Iterator, Sequence

from aex_runtime.sqlite_file import read_transaction
from aex_runtime.store.ordering import Edge, index_sort_key, tightest_edges
from aex_runtime.store.port import Collection, Document, Fields, Index, Query, Scalar, truncate_page

# SQL has no booleans: reals below every integer sort as booleans must, and differ from 0 and 1.
_FALSE, _TRUE = -2e300, -1e300
_COMPARED = {1, 2, 3}  # the types in an index; an edge beyond them needs no comparison
_COLUMNS = "key, body, fields, version"
Statement = tuple[str, tuple[Scalar | float, ...]]
"""SQL text, and the values of its parameters except the last, which is the limit."""


def encode_index_fields(fields: Fields) -> str:
    """Return index fields as the JSON text that is stored; SQLite's indexes extract their values from it."""
    return json.dumps({name: encode_index_value(value) for name, value in fields.items()}, ensure_ascii=False)


def encode_index_value(value: Scalar) -> str | float | None:
    """Return an index value in the form that SQLite compares in the right order."""
    if isinstance(value, bool):
        return _TRUE if value else _FALSE
    return value


def select_document(connection: sqlite3.Connection, collection: str, key: str) -> Document | None:
    """Return the document with this key, or None."""
    sql = f"SELECT {_COLUMNS} FROM documents WHERE collection = ? AND key = ?"  # noqa: S608 columns are ours
    try:
        found = connection.execute(sql, (collection, key)).fetchall()
    except UnicodeEncodeError:  # a key with lone surrogates, which limits.py refuses to write
        return None
    return _document(found[0]) if found else None


def select_documents(connection: sqlite3.Connection, collection: str, keys: Sequence[str]) -> list[Document | None]:
    """Return the documents in the order of the keys, all read at one moment; None for absent ones."""
    sql = f"SELECT {_COLUMNS} FROM documents WHERE collection = ? AND key IN (SELECT value FROM json_each(?))"  # noqa: S608
    found = {row[0]: _document(row) for row in connection.execute(sql, (collection, json.dumps(list(keys))))}
    return [found.get(key) for key in keys]


def quoted_index_name(collection: Collection, index: Index) -> str:
    """Return the quoted SQL name of an index, which tells its fields in a query plan."""
    return _quote(f"{collection.name} by {', '.join((*index.equal, index.order or 'key'))}", '"')


def create_indexes_sql(collection: Collection) -> Iterator[str]:
    """Yield the SQL statements that create the collection's indexes if they are missing."""
    for index in collection.indexes:
        if index.fields:
            columns = map(_field, index.fields)
            yield (
                f"CREATE INDEX IF NOT EXISTS {quoted_index_name(collection, index)}"
                f" ON documents ({', '.join((*columns, 'key'))}) WHERE {_scope(collection, index)}"
            )


def select_by_query(connection: sqlite3.Connection, query: Query) -> list[Document]:
    """Return one page of the documents that a query matches. The query's index must exist."""
    statements = list(build_statements(query))
    if len(statements) == 1:
        return truncate_page(_fetch(connection, statements[0], query.limit), query.max_bytes)
    found: list[Document] = []
    with read_transaction(connection):
        for statement in statements:
            if len(found) < query.limit:
                found += _fetch(connection, statement, query.limit - len(found))
    return truncate_page(found, query.max_bytes)


def _fetch(connection: sqlite3.Connection, statement: Statement, limit: int) -> list[Document]:
    sql, values = statement
    return [_document(row) for row in connection.execute(sql, (*values, limit)).fetchall()]


def build_statements(query: Query) -> Iterator[Statement]:
    """Yield the SQL statements that together return the documents of a query, in order.

    A query that continues behind a document takes two statements. The first reads the other documents with the same
    ordered value, the second those beyond. SQLite cannot seek by both at once in an index over expressions.
    """
    low, high = tightest_edges(query.bounds)
    if query.after is None:
        yield _statement(query, low, high)
        return
    value, key = query.after
    further = ">" if query.direction == "asc" else "<"
    if query.order is None:
        yield _statement(query, None, None, key=(further, key))
        return
    if value is None:  # before everything in the index
        if query.direction == "asc":
            yield _statement(query, low, high)
        return
    same, beyond = Edge(index_sort_key(value), inclusive=True), Edge(index_sort_key(value), inclusive=False)
    is_inside = low is None or same.lower_sort_key() >= low.lower_sort_key()
    if is_inside and (high is None or same.upper_sort_key() <= high.upper_sort_key()):
        yield _statement(query, same, same, key=(further, key))
    if query.direction == "asc":
        yield _statement(query, max(beyond, low or beyond, key=Edge.lower_sort_key), high)
    else:
        yield _statement(query, low, min(beyond, high or beyond, key=Edge.upper_sort_key))


def _statement(query: Query, low: Edge | None, high: Edge | None, key: tuple[str, str] | None = None) -> Statement:
    index = query.find_index()
    terms, values = [_scope(query.collection, index)], list[Scalar | float]()
    for name in index.equal:
        value = query.equal[name]
        terms.append(f"{_field(name)} IS NULL" if value is None else f"{_field(name)} = ?")
        values += [] if value is None else [encode_index_value(value)]
    comparisons = list(_comparisons(low, high))
    for edge, sign in comparisons:
        if edge.value[0] in _COMPARED:
            terms.append(f"{_field(query.order or '')} {sign} ?")
            values.append(encode_index_value(bool(edge.value[1])) if edge.value[0] == 1 else edge.value[1])
    if key is not None:
        terms.append(f"key {key[0]} ?")
        values.append(key[1])
    by = "" if not index.fields else f" INDEXED BY {quoted_index_name(query.collection, index)}"
    # SQLite would sort equal values.
    by_field = [_field(query.order)] if query.order and "=" not in dict(comparisons).values() else []
    order = [f"{column} {query.direction}" for column in (*by_field, "key")]
    sql = f"SELECT {_COLUMNS} FROM documents{by} WHERE {' AND '.join(terms)} ORDER BY {', '.join(order)} LIMIT ?"  # noqa: S608
    return sql, tuple(values)


def _comparisons(low: Edge | None, high: Edge | None) -> Iterator[tuple[Edge, str]]:
    if low is not None and low == high and low.inclusive:
        yield low, "="  # an equality, so that SQLite also seeks by the key behind it
        return
    if low is not None:
        yield low, ">=" if low.inclusive else ">"
    if high is not None:
        yield high, "<=" if high.inclusive else "<"


def _scope(collection: Collection, index: Index) -> str:
    """Return the SQL condition of an index's documents, with literals: SQLite matches no parameters."""
    scope = f"collection = {_quote(collection.name, chr(39))}"
    return f"{scope} AND {_field(index.order)} IS NOT NULL" if index.order else scope


def _field(name: str) -> str:
    return f"json_extract(fields, '$.{name}')"  # names are identifiers: limits.py refuses others


def _quote(text: str, mark: str) -> str:
    return mark + text.replace(mark, mark * 2) + mark


def _document(row: tuple[str, bytes, str, int]) -> Document:
    key, body, fields, version = row
    values = {} if fields == "{}" else json.loads(fields, parse_float=lambda text: float(text) == _TRUE)
    return Document(key, body, values, version)

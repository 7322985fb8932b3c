"""Queries as Firestore's messages.

The document's name ends the order, in the query's direction: so do the indexes that serve it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from google.cloud.firestore_v1.types import RunQueryRequest, StructuredQuery

from aex_runtime.store.firestore_layout import field_path
from aex_runtime.store.firestore_wire import Database, value_of
from aex_runtime.store.order import rank
from aex_runtime.store.port import Comparison, Query, Scalar
from aex_runtime.store.ranges import Edge, edges_of

_RunQuery: Any = RunQueryRequest.pb()
_Filter: Any = StructuredQuery.Filter.pb()
_Operator = StructuredQuery.FieldFilter.Operator
_Unary = StructuredQuery.UnaryFilter.Operator
_Direction = StructuredQuery.Direction
_MAX_LIMIT = 2**31 - 1
_BEGINNING = Edge((1, 0), inclusive=True)  # what comes after null, which no ordered query finds
# An equality of the ordered field as a range: so the index that serves the ranges serves it too.
_OPERATORS: dict[Comparison, tuple[int, ...]] = {
    "==": (_Operator.GREATER_THAN_OR_EQUAL, _Operator.LESS_THAN_OR_EQUAL),
    "<": (_Operator.LESS_THAN,),
    "<=": (_Operator.LESS_THAN_OR_EQUAL,),
    ">": (_Operator.GREATER_THAN,),
    ">=": (_Operator.GREATER_THAN_OR_EQUAL,),
}


def run_query(database: Database, query: Query) -> Any | None:
    """The request for a query that `check_query` let pass; None where nothing can match."""
    page = page_of(query)
    if page is None:
        return None
    request = _RunQuery(parent=database.root)
    asked = request.structured_query
    asked.from_.add(collection_id=query.collection.name)
    filters = list(_filters(query))
    if len(filters) == 1:
        asked.where.CopyFrom(filters[0])
    elif filters:
        asked.where.composite_filter.op = StructuredQuery.CompositeFilter.Operator.AND
        asked.where.composite_filter.filters.extend(filters)
    direction = _Direction.ASCENDING if query.direction == "asc" else _Direction.DESCENDING
    for path in (*((field_path(query.order),) if query.order else ()), "__name__"):
        asked.order_by.add(field={"field_path": path}, direction=direction)
    if page.after is not None:
        value, key = page.after
        if query.order is not None:
            asked.start_at.values.append(value_of(value))
        asked.start_at.values.add(reference_value=database.document((query.collection.name, key)))
        asked.start_at.before = False
    asked.limit.value = min(query.limit, _MAX_LIMIT)
    return request


@dataclass(frozen=True, slots=True)
class Page:
    """Where the results begin: behind a position, or where the bounds let them."""

    after: tuple[Scalar, str] | None


def page_of(query: Query) -> Page | None:
    """Where the results begin; None where there are none.

    A cursor is only ever sent within the bounds: there it says more than they do.
    """
    low, high = edges_of(query.bounds)
    low = low or _BEGINNING
    if high is not None and _is_empty(low, high):
        return None
    if query.after is None or query.order is None:
        return Page(query.after)
    here = Edge(rank(query.after[0]), inclusive=True)
    below, above = here.as_low() < low.as_low(), high is not None and here.as_high() > high.as_high()
    ahead, behind = (below, above) if query.direction == "asc" else (above, below)
    if behind:
        return None
    return Page(None if ahead else query.after)


def _is_empty(low: Edge, high: Edge) -> bool:
    if low.value == high.value:
        return not (low.inclusive and high.inclusive)
    return low.value > high.value


def _filters(query: Query) -> Iterator[Any]:
    for name, value in query.equal.items():
        yield _unary(name, _Unary.IS_NULL) if value is None else _field(name, _Operator.EQUAL, value)
    if query.order is None:
        return
    for bound in query.bounds:
        for operator in _OPERATORS[bound.comparison]:
            yield _field(query.order, operator, bound.value)
    if not query.bounds:  # a range holds no nulls; a whole index does
        yield _unary(query.order, _Unary.IS_NOT_NULL)


def _field(name: str, operator: int, value: Scalar) -> Any:
    return _Filter(field_filter={"field": {"field_path": field_path(name)}, "op": operator, "value": value_of(value)})


def _unary(name: str, operator: int) -> Any:
    return _Filter(unary_filter={"field": {"field_path": field_path(name)}, "op": operator})

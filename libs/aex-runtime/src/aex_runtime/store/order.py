"""The one order of index values, on every backend that of Firestore: null, booleans, integers, text by code point."""

from aex_runtime.store.port import Bound, Query, Scalar

Rank = tuple[int, int | str]
"""What a value is compared by: its type first, then itself."""
SMALLEST_INTEGER = -(2**63)


def rank(value: Scalar) -> Rank:
    """Where a value stands among all values. `True` is not 1."""
    if value is None:
        return (0, 0)
    if isinstance(value, bool):
        return (1, int(value))
    return (2, value) if isinstance(value, int) else (3, value)


def position(query: Query, value: Scalar, key: str) -> tuple[Rank, str]:
    """Where a document (or the end of a page) stands in the query's order: ordered value, then key."""
    return (rank(value if query.order else None), key)


def within(value: Scalar, bound: Bound) -> bool:
    """Whether a value is on the right side of a bound; a bound meets only values of its own type."""
    here, there = rank(value), rank(bound.value)
    if here[0] != there[0]:
        return False
    return {
        "==": here == there,
        "<": here < there,
        "<=": here <= there,
        ">": here > there,
        ">=": here >= there,
    }[bound.comparison]

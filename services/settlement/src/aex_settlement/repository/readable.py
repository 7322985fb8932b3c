"""Reading records that somebody may have written to: what is wrong with them is said, and is no crash."""

from collections.abc import Iterator
from contextlib import contextmanager

from aex_runtime.store.table import UNREADABLE
from aex_settlement.rules.broken import UnreadableRecord


@contextmanager
def readable(collection: str, key: str) -> Iterator[None]:
    """Raise `UnreadableRecord`, naming the record, where it is not what its table says."""
    try:
        yield
    except UNREADABLE as error:
        raise UnreadableRecord(collection, key) from error

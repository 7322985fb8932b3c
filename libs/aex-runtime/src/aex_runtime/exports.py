"""Exports of records as files, with a limited number at once and one page in memory."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Generic, TypeVar

from structlog.typing import FilteringBoundLogger

from aex_runtime.http.limits import ConcurrencyLimiter
from aex_runtime.identity.principals import Principal

PIECE_BYTES = 262_144
"""The most bytes of a piece. A reader that takes none for long is disconnected."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ExportFile(Generic[T]):
    """The content of an export."""

    pages: AsyncGenerator[Sequence[T], None]
    """The rows, page by page; a page may take long to come."""
    encode: Callable[[Sequence[T]], tuple[bytes, int]]
    """Returns the rows of a page as bytes, and their number. It runs in a thread."""
    format: str
    head: bytes = b""
    """Bytes before the first row; they are written even if there is no row."""


async def stream_export(
    log: FilteringBoundLogger,
    event: str,
    file: ExportFile[T],
    limiter: ConcurrencyLimiter,
    reader: Principal,
    *,
    sees_all: bool,
) -> AsyncGenerator[bytes, None]:
    """Yield the file in pieces; at its end log `event`, or `export_aborted`, with the number of rows.

    The export holds a slot of `limiter` meanwhile. The last slots are for readers with `sees_all`. Raises `RateLimited`
    and `TemporarilyUnavailable`, before the first piece, if too many exports run. A caller that stops early must close
    the generator.
    """
    with limiter.acquire(f"{reader.role.value}:{reader.id}", preferred=sees_all):
        rows, is_complete, head = 0, False, file.head
        try:
            async with aclosing(file.pages) as pages:
                async for page in pages:
                    content, count = await asyncio.to_thread(file.encode, page)
                    content = head + content
                    for start in range(0, len(content), PIECE_BYTES):
                        yield content[start : start + PIECE_BYTES]
                    head, rows = b"", rows + count
            if head:
                yield head
            is_complete = True
        finally:  # also for a store that fails, or a reader that disconnects
            log.info(event if is_complete else "export_aborted", rows=rows, format=file.format)


def merge_party_filters_unless_foreign(
    own: Mapping[str, str], requested: Mapping[str, str | None]
) -> dict[str, str] | None:
    """Return the filters of an export by party: the reader's own ids, then those that are requested.

    Return None, for an empty result, if the reader requests the rows of another party.
    """
    if any(requested[name] not in (None, value) for name, value in own.items()):
        return None
    return {**own, **{name: value for name, value in requested.items() if value is not None}}


def export_filename(name: str, now: datetime, suffix: str) -> str:
    """Return a file name with the time in UTC."""
    return f"{name}-{now.astimezone(UTC):%Y%m%dT%H%M%SZ}.{suffix}"

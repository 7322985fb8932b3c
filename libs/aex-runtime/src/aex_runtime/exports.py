"""Exports of records as files: bounded per process, a page in memory at a time."""

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
"""Largest piece of a file: a reader that takes none for long is disconnected."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ExportFile(Generic[T]):
    """Content of an export.

    `pages` may take long between two pages. `encode` returns a page's rows as bytes and their number; it runs in a
    thread.
    """

    pages: AsyncGenerator[Sequence[T], None]
    encode: Callable[[Sequence[T]], tuple[bytes, int]]
    format: str
    head: bytes = b""
    """Bytes before the first row, also where there is none."""


async def stream_export(
    log: FilteringBoundLogger,
    event: str,
    file: ExportFile[T],
    limiter: ConcurrencyLimiter,
    reader: Principal,
    *,
    sees_all: bool,
) -> AsyncGenerator[bytes, None]:
    """Yield the file in pieces, and log `event` or `export_aborted` with the number of rows.

    Before the first piece raises `RateLimited` and `TemporarilyUnavailable` where too many exports run; the last slots
    are for readers that see all. Close the generator before its end to release its slot.
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


def combine_parties(own: Mapping[str, str], requested: Mapping[str, str | None]) -> dict[str, str] | None:
    """Return the fields of each row, the reader's own first; None where another party's are requested."""
    if any(requested[name] not in (None, value) for name, value in own.items()):
        return None
    return {**own, **{name: value for name, value in requested.items() if value is not None}}


def export_filename(name: str, now: datetime, suffix: str) -> str:
    """Return a file name with the UTC time."""
    return f"{name}-{now.astimezone(UTC):%Y%m%dT%H%M%SZ}.{suffix}"

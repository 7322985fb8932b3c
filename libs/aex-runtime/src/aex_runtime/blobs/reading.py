"""A blob piece by piece, of which nobody gets the end before its digest was verified."""

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator

from aex_runtime.blobs.port import BlobCorrupt

PIECE = 1_048_576
_INLINE_BYTES = 262_144
"""Up to here hashing takes less than handing it to a thread."""


async def verified_pieces(
    path: str, digest: str, size: int, first: bytes, fetch: Callable[[int], Awaitable[bytes]]
) -> AsyncGenerator[bytes, None]:
    """Pieces of at most `PIECE` bytes, none of them empty. `fetch` gives some bytes from a position on.

    Raises `BlobCorrupt` in the place of the last piece, and what `fetch` raises.
    """
    hashed = hashlib.sha256()
    held = b""
    fetched, position = first, 0
    while fetched:
        if len(fetched) > _INLINE_BYTES:
            await asyncio.to_thread(hashed.update, fetched)
        else:
            hashed.update(fetched)
        for piece in _cut(fetched):
            if held:
                yield held
            held = piece
        position += len(fetched)
        fetched = await fetch(position) if position < size else b""
    if position != size or hashed.hexdigest() != digest:
        raise BlobCorrupt(f"{path}: the bytes have another digest")
    if held:
        yield held


def _cut(content: bytes) -> Iterator[bytes]:
    return (content[start : start + PIECE] for start in range(0, len(content), PIECE))

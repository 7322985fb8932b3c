"""The next page is read while the last one is looked at."""

import asyncio
from collections.abc import AsyncGenerator
from typing import TypeVar

T = TypeVar("T")


async def ahead(pages: AsyncGenerator[T, None]) -> AsyncGenerator[T, None]:
    """The same pages, each read while its reader is busy with the one before. Closes `pages` at the end."""
    following = asyncio.ensure_future(anext(pages, None))
    try:
        while (page := await following) is not None:
            following = asyncio.ensure_future(anext(pages, None))
            yield page
    finally:
        if not following.done():
            following.cancel()
            await asyncio.wait([following])
        await pages.aclose()

"""What keeps a sealer that lost its lease from writing: called first in each of its transactions."""

from collections.abc import Awaitable, Callable

from aex_runtime.store.port import Transaction

Guard = Callable[[Transaction], Awaitable[None]]
"""Reads what says that the writer may still write; raises `LeaseLost` where it may not."""


async def unguarded(_: Transaction) -> None:
    """For a writer that is alone, or that may be one of two: each write is compared with what stands."""

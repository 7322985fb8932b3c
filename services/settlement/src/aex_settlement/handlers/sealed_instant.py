"""The sealed instant that an `as_of` means, and reading the books at it."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, TypeVar

from aex_runtime.clock import epoch_micros
from aex_runtime.periods import parse_instant
from aex_settlement.deps import Deps
from aex_settlement.handlers.steady import of_one_generation
from aex_settlement.repository.journal import batch_at
from aex_settlement.rules.projected import Projection, ProjectionState

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SealedInstant:
    """A batch that was the last one at some instant (0: before the first), and the generation that is read."""

    generation: str
    seq: int
    complete_to: datetime | None
    """How far an answer as of this instant reaches: never beyond the watermark."""


@dataclass(frozen=True, slots=True)
class AsOf(Generic[T]):
    """What was read of the books. `complete_to` and `answer` are None before anything was sealed."""

    as_of: datetime
    """As it was asked for; otherwise now, and never before `complete_to`."""
    complete_to: datetime | None
    answer: T | None


async def read_as_of(deps: Deps, as_of: str | None, read: Callable[[SealedInstant], Awaitable[T]]) -> AsOf[T]:
    """What `read` finds in the books at an instant; at the watermark where none is given, or a later one.

    What is said of an instant up to `complete_to` is said for good. Raises `InvalidRequest` for what is no RFC 3339
    instant.
    """
    asked = parse_instant("as_of", as_of)

    async def at(state: ProjectionState) -> tuple[SealedInstant, T]:
        instant = await _instant(deps, state, asked)
        return instant, await read(instant)

    found = await of_one_generation(deps, Projection.ACCOUNTS, at)
    now = deps.clock.now()
    if found is None:
        return AsOf(asked or now, None, None)
    instant, answer = found
    # The journal's own time only moves forward: it may be ahead of a clock that was set back.
    return AsOf(asked or max(now, instant.complete_to or now), instant.complete_to, answer)


async def _instant(deps: Deps, state: ProjectionState, asked: datetime | None) -> SealedInstant:
    if asked is None or state.sealed_at is None or asked >= state.sealed_at:
        return SealedInstant(state.generation, state.seq, state.sealed_at)
    batch = await batch_at(deps.store, epoch_micros(asked))
    return SealedInstant(state.generation, 0 if batch is None else batch.seq, asked)

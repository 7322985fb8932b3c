"""Reads of projections that give one consistent answer while the sealer updates them."""

import operator
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Generic, NamedTuple, TypeVar

import structlog

from aex_runtime.clock import epoch_micros
from aex_runtime.errors import TemporarilyUnavailable
from aex_runtime.periods import parse_instant
from aex_settlement.deps import Deps
from aex_settlement.repository.journal import find_last_batch_sealed_by
from aex_settlement.repository.projections import read_projection_state
from aex_settlement.rules.projections import Projection, ProjectionState

T = TypeVar("T")
MAX_ATTEMPTS = 5
LONG_READ_S = 0.2
"""Seconds of a read that is not repeated: under steady traffic a projection moves dozens of times a second."""
_log = structlog.get_logger("aex_settlement.consistent_reads")


async def read_consistent(
    deps: Deps,
    projection: Projection,
    read: Callable[[ProjectionState], Awaitable[T]],
    is_same_state: Callable[[ProjectionState, ProjectionState], bool] = operator.eq,
) -> T | None:
    """Call `read` until the projection does not move during it, and return its result.

    Returns None before the projection's first batch. After five reads, or a read above 0.2 s, the result is returned
    anyway if the generation is the same; it may include newer batches. Raises `TemporarilyUnavailable` if a rebuild
    replaced the generation.
    """
    state = await read_projection_state(deps.store, projection)
    for attempt in range(1, MAX_ATTEMPTS + 1):
        if state is None:
            return None
        begin = time.monotonic()
        answer, before = await read(state), state
        is_final = attempt == MAX_ATTEMPTS or time.monotonic() - begin > LONG_READ_S
        state = await read_projection_state(deps.store, projection)
        if state is not None and (is_same_state(before, state) or (is_final and state.generation == before.generation)):
            return answer
        _log.info("projection_moved", projection=projection.value, attempt=attempt)
    raise TemporarilyUnavailable("books_rebuilt", "the projections were just rebuilt; retry the request")


@dataclass(frozen=True, slots=True)
class SealedInstant:
    """Batch and generation from which an answer about a past instant is read."""

    generation: str
    """Generation of the projection that is read."""
    seq: int
    """Last batch sealed at the instant; 0 before the first."""
    complete_to: datetime | None
    """Time up to which an answer is complete and never changes."""


class AnswerAsOf(NamedTuple, Generic[T]):
    """Answer about an instant."""

    instant: datetime
    """The instant: the requested one, or the present."""
    complete_to: datetime | None
    """Time up to which the answer is complete; None before the first batch."""
    answer: T | None
    """Result of the read; None before the first batch."""


async def read_as_of(deps: Deps, as_of: str | None, read: Callable[[SealedInstant], Awaitable[T]]) -> AnswerAsOf[T]:
    """Call `read` with the ledger's state at the instant `as_of`, or at the latest sealed one.

    If `as_of` is None, the instant is now. Raises `InvalidRequest` unless `as_of` is RFC 3339.
    """
    requested = parse_instant("as_of", as_of)

    async def read_state_instant(state: ProjectionState) -> tuple[SealedInstant, T]:
        instant = SealedInstant(state.generation, state.seq, state.sealed_at)
        if requested is not None and state.sealed_at is not None and requested < state.sealed_at:
            batch = await find_last_batch_sealed_by(deps.store, epoch_micros(requested))
            instant = SealedInstant(state.generation, 0 if batch is None else batch.seq, requested)
        return instant, await read(instant)

    # Nothing is read beyond the state's batch: the answer holds as long as its generation is read.
    found = await read_consistent(
        deps, Projection.ACCOUNTS, read_state_instant, lambda before, after: before.generation == after.generation
    )
    now = deps.clock.now()
    if found is None:
        return AnswerAsOf(requested or now, None, None)
    instant, answer = found
    # The journal's own time only moves forward: it may be ahead of a clock that was set back.
    return AnswerAsOf(requested or max(now, instant.complete_to or now), instant.complete_to, answer)

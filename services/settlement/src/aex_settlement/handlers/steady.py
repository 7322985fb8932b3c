"""Reading a projection that moves: again where it has moved meanwhile, so that an answer is of one moment."""

import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

import structlog

from aex_runtime.errors import TemporarilyUnavailable
from aex_settlement.deps import Deps
from aex_settlement.repository.projections import read_state
from aex_settlement.rules.projected import Projection, ProjectionState

T = TypeVar("T")
TRIES = 5
PATIENCE_S = 0.2
"""Under steady traffic the books move some dozens of times a second: what takes long to read meets no rest anew."""
_log = structlog.get_logger("aex_settlement.steady")


async def at_one_state(deps: Deps, projection: Projection, read: Callable[[ProjectionState], Awaitable[T]]) -> T | None:
    """What `read` makes of the projection, at rest from its beginning to its end; None before the first batch.

    Where the books are not at rest for so long, the last of a few readings is taken, or one that took long: it holds at
    least what the state at its beginning does.
    """
    return await _read(deps, projection, read, lambda before, after: before == after)


async def of_one_generation(
    deps: Deps, projection: Projection, read: Callable[[ProjectionState], Awaitable[T]]
) -> T | None:
    """What `read`, which looks no further than its state's batch, makes of the projection; None before the first."""
    return await _read(deps, projection, read, lambda before, after: before.generation == after.generation)


async def _read(
    deps: Deps,
    projection: Projection,
    read: Callable[[ProjectionState], Awaitable[T]],
    rest: Callable[[ProjectionState, ProjectionState], bool],
) -> T | None:
    """Raises `TemporarilyUnavailable` where a rebuild took the generation away from under the last reading."""
    state = await _state(deps, projection)
    for tries in range(1, TRIES + 1):
        if state is None:
            return None
        begin = time.monotonic()
        answer, before = await read(state), state
        is_enough = tries == TRIES or time.monotonic() - begin > PATIENCE_S
        state = await _state(deps, projection)
        if state is not None and (rest(before, state) or (is_enough and state.generation == before.generation)):
            return answer
        _log.info("projection_moved", projection=projection.value, tries=tries)
    raise TemporarilyUnavailable("books_rebuilt", "the books were just rebuilt; ask again")


async def _state(deps: Deps, projection: Projection) -> ProjectionState | None:
    stored = await read_state(deps.store, projection)
    return None if stored is None else stored.record

"""A place among those who wait for custom code or a named verifier: who has none comes again, and holds nobody up."""

from contextlib import ExitStack

from aex_runtime.errors import RateLimited, TemporarilyUnavailable
from aex_verification.deps import Deps


def has_place(deps: Deps, consumer_id: str, place: ExitStack) -> bool:
    """Whether there is a place for this consumer; it is then taken until `place` is closed."""
    try:
        place.enter_context(deps.slow_places.passed(consumer_id))
    except (RateLimited, TemporarilyUnavailable):
        return False
    return True

"""How long the agents take: what they report as `duration_ms` is measured."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def timed(make: Callable[[], T]) -> tuple[T, float]:
    """What was made, and the milliseconds that it took."""
    begin = time.perf_counter()
    made = make()
    return made, (time.perf_counter() - begin) * 1000

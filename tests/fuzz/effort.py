"""How much is tried: a little that is the same each time, or as much and as new as `make fuzz EXAMPLES=…` asks for."""

import os
import time
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from hypothesis import HealthCheck, settings

P = ParamSpec("P")
T = TypeVar("T")
EXAMPLES = "AEX_FUZZ_EXAMPLES"
MAX_CPU_S = 1.0
_EACH_TIME = 100


def effort() -> settings:
    """Of one property. Unasked: few examples, always the same ones, so that a failure is of the change at hand."""
    asked = os.environ.get(EXAMPLES)
    return settings(
        max_examples=int(asked or _EACH_TIME),
        derandomize=asked is None,
        database=None,
        deadline=None,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
    )


def soon(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """What the function answers or raises, which takes it less than a second of this thread's own time.

    Its own, for machines have other things to do.
    """
    began = time.thread_time()
    try:
        return function(*args, **kwargs)
    finally:
        assert time.thread_time() - began < MAX_CPU_S, f"{getattr(function, '__name__', function)} is slow"

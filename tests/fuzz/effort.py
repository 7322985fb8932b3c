"""Number of examples: few fixed ones by default, or as many new ones as `make fuzz EXAMPLES=…` asks."""

import os
import time
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from hypothesis import HealthCheck, settings

from tests.examples import examples

P = ParamSpec("P")
T = TypeVar("T")
EXAMPLES = "AEX_FUZZ_EXAMPLES"
MAX_CPU_S = 1.0
_EACH_TIME = 100


def effort() -> settings:
    """Return the settings of one property.

    Deterministic by default, so that a failure concerns the change at hand.
    """
    requests = os.environ.get(EXAMPLES)
    return settings(
        max_examples=int(requests or examples(_EACH_TIME)),
        derandomize=requests is None,
        database=None,
        deadline=None,
        print_blob=True,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture],
    )


def soon(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Return the function's result, computed in less than a second of this thread's own time."""
    began = time.thread_time()
    try:
        return function(*args, **kwargs)
    finally:
        assert time.thread_time() - began < MAX_CPU_S, f"{getattr(function, '__name__', function)} is slow"

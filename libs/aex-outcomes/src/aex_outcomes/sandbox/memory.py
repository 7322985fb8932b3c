"""Bounds on this process while it deals with the interpreter: what hostile code sends must not fill it.

A message of the interpreter's, an exception's text say, is held three times over while it is read. With the process's
own limit lowered meanwhile, one that is too large fails to be read, and that is a fault of the code.
"""

import math
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager

from aex_outcomes.confinement.lockdown import address_space

_HEADROOM = 96 << 20
"""Bytes beyond what is in use already; the client's threads reserve some of it for their stacks."""

_SPARE_S = 20
"""Seconds that an interpreter may need in all beside one last run: it is replaced after half of them."""


@contextmanager
def reading_budget(expected: int) -> Iterator[None]:
    """No more memory than `expected` bytes and some headroom, in this block. Nothing where the system cannot tell."""
    used = address_space()
    if used is None:
        yield
        return
    with _lowered(resource.RLIMIT_AS, used + expected + _HEADROOM):
        yield


@contextmanager
def orphan_budget(timeout_s: float) -> Iterator[None]:
    """A child that starts in this block may use so much processor time: one whose parent was killed ends by itself,
    also where `Leash` does not hold. This process's own time is added, since the limit is its own for a moment."""
    with _lowered(resource.RLIMIT_CPU, math.ceil(time.process_time() + _SPARE_S + 2 * timeout_s)):
        yield


@contextmanager
def _lowered(limit: int, value: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(limit)
    bounds = [each for each in (value, soft, hard) if each != resource.RLIM_INFINITY]
    resource.setrlimit(limit, (min(bounds), hard))
    try:
        yield
    finally:
        resource.setrlimit(limit, (soft, hard))

"""Processor use of verification's workers, from the operating system."""

import time

import psutil

from tests.e2e.live import Live

_LOOK_S = 0.4
_USED_S = 0.03
"""Processor time above that of a waiting worker, below that of a busy one among twenty on two cores."""


def burning(live: Live) -> bool:
    """Return whether a worker uses the processor now."""
    found = live.process("verification").children()
    before = [_used_s(each) for each in found]
    time.sleep(_LOOK_S)
    return any(_used_s(each) >= start + _USED_S for each, start in zip(found, before, strict=True))


def _used_s(process: psutil.Process) -> float:
    """Seconds of the processor; none by one that was killed and replaced meanwhile."""
    try:
        return float(process.cpu_times().user)
    except psutil.NoSuchProcess:
        return 0.0

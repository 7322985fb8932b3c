"""Whether verification's workers are at work, as the operating system sees it."""

import time

import psutil

from tests.e2e.live import Live


def burning(live: Live) -> bool:
    """Whether some worker uses the processor now."""
    found = live.process("verification").children()
    before = [_used_s(each) for each in found]
    time.sleep(0.2)
    return any(_used_s(each) > start + 0.05 for each, start in zip(found, before, strict=True))


def _used_s(process: psutil.Process) -> float:
    """Seconds of the processor; none by one that was killed and replaced meanwhile."""
    try:
        return float(process.cpu_times().user)
    except psutil.NoSuchProcess:
        return 0.0

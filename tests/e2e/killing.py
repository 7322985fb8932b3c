"""Killing services, and processor use of verification's workers."""

import time

import psutil

from tests.e2e.jobs import eventually
from tests.e2e.live import Live

_GONE_S = 60.0
_LOOK_S = 0.4
_USED_S = 0.03
"""Processor time above that of a waiting worker, below that of a busy one among twenty on two cores."""


def kill(live: Live, service: str, replica: int = 1) -> None:
    """End one process of the service with SIGKILL."""
    victim = live.process(service, replica)
    victim.kill()
    victim.wait()


def kill_workers(live: Live) -> None:
    """End verification's confined workers, all of them; the service itself goes on."""
    verification = live.process("verification")
    for worker in eventually(lambda: verification.children() or None, what="a confined worker"):
        worker.kill()


def kill_all(live: Live) -> None:
    """End `aex up` and all below it at once, as a machine does that loses its power."""
    below = live.running.descendants()
    live.running.process.kill()  # first: it would restart the others
    for each in below:
        each.kill()
    live.running.wait()
    assert psutil.wait_procs(below, timeout=_GONE_S)[1] == []


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

"""Killing services."""

import psutil

from tests.e2e.jobs import eventually
from tests.e2e.live import Live

_GONE_S = 10.0


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

"""Killing services."""

from tests.e2e.live import Live


def kill(live: Live, service: str, replica: int = 1) -> None:
    """End one process of the service with SIGKILL."""
    victim = live.process(service, replica)
    victim.kill()
    victim.wait()

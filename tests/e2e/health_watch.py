"""Asks `/healthz` all the time, and remembers how long each answer took."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx

from tests.e2e.live import Live

EVERY_S = 0.02


@dataclass
class HealthWatch:
    """What a service answered, and how fast."""

    seconds: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


@contextmanager
def watched_health(live: Live, service: str) -> Iterator[HealthWatch]:
    """Poll the service's health in a thread until the block ends."""
    seen, over = HealthWatch(), threading.Event()
    url = live.url(service, "/healthz")

    def watch() -> None:
        with httpx.Client(timeout=10, trust_env=False) as client:
            while not over.wait(EVERY_S):
                begin = time.perf_counter()
                try:
                    client.get(url).raise_for_status()
                except httpx.HTTPError as error:
                    seen.failures.append(repr(error))
                seen.seconds.append(time.perf_counter() - begin)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join()

"""Asks `/healthz` all the time, and remembers how long each answer took."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import httpx

from tests.e2e.live import Live
from tests.e2e.polling import polling

EVERY_S = 0.02


@dataclass
class HealthWatch:
    """Answers of a service and their times."""

    seconds: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)


@contextmanager
def watched_health(live: Live, service: str) -> Iterator[HealthWatch]:
    """Poll the service's health in a thread until the block ends."""
    seen, url = HealthWatch(), live.url(service, "/healthz")

    def ask(client: httpx.Client) -> None:
        begin = time.perf_counter()
        try:
            client.get(url).raise_for_status()
        except httpx.HTTPError as error:
            seen.failures.append(repr(error))
        seen.seconds.append(time.perf_counter() - begin)

    with polling(EVERY_S, ask):
        yield seen

"""Polling of `/readyz` of every service, with the times of each red and green."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus

import httpx

from aex_cli.suite.service_spec import MODULES
from tests.e2e.jobs import eventually
from tests.e2e.live import Live
from tests.e2e.polling import Ask, polling

_EVERY_S = 0.1
_RED = HTTPStatus.SERVICE_UNAVAILABLE


@dataclass
class ReadinessWatch:
    """The status of each answer, with the monotonic time at which it came; 0 where none came."""

    answers: dict[str, list[tuple[float, int]]] = field(default_factory=lambda: {service: [] for service in MODULES})
    slowest_s: float = 0.0
    """Longest time until a service was ready: a measure of the machine's speed."""

    def turned(self, status: int, since: float) -> Mapping[str, float]:
        """After how many seconds each service first answered with this status, of those that have."""
        found: dict[str, float] = {}
        for service, answers in self.answers.items():
            first = next((at - since for at, seen in list(answers) if at >= since and seen == status), None)
            if first is not None:
                found[service] = first
        return found

    def until_red(self, since: float, within_s: float) -> Mapping[str, float]:
        """The same for red, once all services are."""
        return self._until(_RED, since, within_s)

    def until_green(self, since: float, within_s: float) -> Mapping[str, float]:
        """The same for green, once all services are."""
        return self._until(HTTPStatus.OK, since, within_s)

    def _until(self, status: int, since: float, within_s: float) -> Mapping[str, float]:
        def look() -> Mapping[str, float] | None:
            found = self.turned(status, since)
            return found if len(found) == len(MODULES) else None

        return eventually(look, within_s, f"{status} of every /readyz")


@contextmanager
def watched_readiness(live: Live) -> Iterator[ReadinessWatch]:
    """Poll the services' readiness, each in a thread, until the block ends."""
    seen = ReadinessWatch()

    def asking(service: str) -> Ask:
        url = live.url(service, "/readyz")

        def ask(client: httpx.Client) -> None:
            begin = time.monotonic()
            try:
                status = client.get(url).status_code
            except httpx.HTTPError:
                status = 0
            end = time.monotonic()
            seen.answers[service].append((end, status))
            if status == HTTPStatus.OK:
                seen.slowest_s = max(seen.slowest_s, end - begin)

        return ask

    with polling(_EVERY_S, *map(asking, MODULES)):
        yield seen

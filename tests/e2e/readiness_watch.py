"""Repeated requests to services beside the test, with the times of each red and green of `/readyz`."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import httpx

from aex_cli.suite.service_spec import MODULES
from tests.e2e.jobs import eventually
from tests.e2e.live import Live

Ask = Callable[[httpx.Client], None]
"""Asks once, and notes the answer; raises nothing."""
_EVERY_S = 0.1


@contextmanager
def polling(every_s: float, *asks: Ask) -> Iterator[None]:
    """Each in a thread and with a client of its own, until the block ends."""
    over = threading.Event()

    def poll(ask: Ask) -> None:
        with httpx.Client(timeout=10, trust_env=False) as client:
            while not over.wait(every_s):
                ask(client)

    threads = [threading.Thread(target=poll, args=(ask,)) for ask in asks]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


class ReadinessWatch:
    """The status of each answer, with the monotonic time at which it came; 0 where none came."""

    def __init__(self) -> None:
        self.answers: dict[str, list[tuple[float, int]]] = {service: [] for service in MODULES}

    def until(self, status: int, since: float) -> Mapping[str, float]:
        """Return after how many seconds each service first answered with this status, once all have."""

        def look() -> Mapping[str, float] | None:
            found: dict[str, float] = {}
            for service, answers in self.answers.items():
                first = next((at - since for at, seen in list(answers) if at >= since and seen == status), None)
                if first is None:
                    return None
                found[service] = first
            return found

        return eventually(look, what=f"an answer of {status} of every /readyz")


@contextmanager
def watched_readiness(live: Live) -> Iterator[ReadinessWatch]:
    """Poll the services' readiness, each in a thread, until the block ends."""
    seen = ReadinessWatch()

    def asking(service: str) -> Ask:
        def ask(client: httpx.Client) -> None:
            try:
                status = client.get(live.url(service, "/readyz")).status_code
            except httpx.HTTPError:
                status = 0
            seen.answers[service].append((time.monotonic(), status))

        return ask

    with polling(_EVERY_S, *map(asking, MODULES)):
        yield seen

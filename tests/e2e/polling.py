"""Repeated requests to services beside the test."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import httpx

Ask = Callable[[httpx.Client], None]
"""Asks once, and notes the answer; raises nothing."""


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

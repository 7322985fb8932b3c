"""The signals that stop the suite: the first asks for a drain, a second one for the end."""

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_ECHO_S = 0.3
"""A signal this soon after the first is its echo: `uv run` and `timeout` pass on what the terminal sent already."""


class StopRequest:
    """What was asked for so far."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.asked = asyncio.Event()
        self.at_once = asyncio.Event()
        self._loop = loop
        self._asked_at = 0.0

    @classmethod
    @contextmanager
    def listening(cls, loop: asyncio.AbstractEventLoop) -> Iterator["StopRequest"]:
        """Take the stop signals for as long as the block runs. SIGHUP stays ignored where `nohup` ignored it."""
        request = cls(loop)
        taken = [number for number in STOP_SIGNALS if not _nohup(number)]
        for number in taken:
            loop.add_signal_handler(number, request.receive)
        try:
            yield request
        finally:
            for number in taken:
                loop.remove_signal_handler(number)

    def receive(self) -> None:
        """A stop signal came."""
        if not self.asked.is_set():
            self._asked_at = self._loop.time()
            self.asked.set()
        elif self._loop.time() - self._asked_at > _ECHO_S:
            self.at_once.set()


def _nohup(number: signal.Signals) -> bool:
    return number is signal.SIGHUP and signal.getsignal(number) is signal.SIG_IGN

"""Retries of an operation: failures in a row, waits with jitter, and a log line for each."""

import asyncio
import math
from collections.abc import Awaitable, Callable
from typing import TypeVar

import structlog

from aex_models.backoff import Backoff
from aex_runtime.ids import Ids
from aex_runtime.logs import describe_failure

_log = structlog.get_logger(__name__)
T = TypeVar("T")


class Retries:
    """The failures in a row of one operation, and the wait after each."""

    def __init__(self, backoff: Backoff, ids: Ids, sleep: Callable[[float], Awaitable[object]] = asyncio.sleep) -> None:
        self._backoff = backoff
        self._ids = ids
        self._sleep = sleep
        self.failures = 0

    def reset(self) -> None:
        """Forget the failures: the operation succeeded."""
        self.failures = 0

    def next_delay_s(self) -> float:
        """Count a failure and return the seconds to wait after it."""
        self.failures += 1
        return self._backoff.delay(self.failures, self._ids.jitter()).total_seconds()

    async def log_and_wait(self, event: str, reason: Exception | str, **fields: object) -> None:
        """Count a failure, log it as `event` and wait."""
        delay_s = self.next_delay_s()
        text = reason if isinstance(reason, str) else describe_failure(reason)
        _log.warning(event, reason=text, retry_in_s=delay_s, **fields)
        await self._sleep(delay_s)

    async def call_with_retries(
        self,
        event: str,
        operation: Callable[[], Awaitable[T]],
        retry_reason: Callable[[Exception], str | None],
        *,
        tries: int = 0,
        end_s: float = math.inf,
        **fields: object,
    ) -> T:
        """Return the result of `operation`, repeated after each error that has a reason to retry.

        Raises the error if it has none, after `tries` (0: no limit), and if the wait would end after `end_s` on the
        event loop's clock.
        """
        while True:
            try:
                return await operation()
            except Exception as error:
                reason, delay_s = retry_reason(error), self.next_delay_s()
                if reason is None or self.failures == tries or asyncio.get_running_loop().time() + delay_s >= end_s:
                    raise
            _log.warning(event, reason=reason, retry_in_s=delay_s, **fields)
            await self._sleep(delay_s)

"""Retries of an operation, with waits that grow with the failures in a row, and log lines."""

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
    """The number of failures in a row of one operation, from which the next wait follows."""

    def __init__(self, backoff: Backoff, ids: Ids, sleep: Callable[[float], Awaitable[object]] = asyncio.sleep) -> None:
        self._backoff = backoff
        self._ids = ids
        self._sleep = sleep
        self.failures = 0

    def reset(self) -> None:
        """Set the failures to 0, after a success."""
        self.failures = 0

    def count_failure_and_get_delay_s(self) -> float:
        """Count a failure and return how many seconds to wait before the next try, with jitter."""
        self.failures += 1
        return self._backoff.delay(self.failures, self._ids.jitter()).total_seconds()

    async def count_failure_log_and_wait(self, event: str, reason: Exception | str, **fields: object) -> None:
        """Count a failure, log it as `event` with the reason, and wait before the next try."""
        delay_s = self.count_failure_and_get_delay_s()
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
        """Call `operation` until it succeeds, and return its result; log each retry as `event`.

        An error is retried if `retry_reason` returns a text for it; else it is raised. It is also raised after `tries`
        calls (0: no limit), and if the wait would end after `end_s` on the event loop's clock.
        """
        while True:
            try:
                return await operation()
            except Exception as error:
                reason, delay_s = retry_reason(error), self.count_failure_and_get_delay_s()
                if reason is None or self.failures == tries or asyncio.get_running_loop().time() + delay_s >= end_s:
                    raise
            _log.warning(event, reason=reason, retry_in_s=delay_s, **fields)
            await self._sleep(delay_s)

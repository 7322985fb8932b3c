"""Limits of callers: operations at once, per caller and in total, and requests per second."""

import math
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import Generic, TypeVar

import structlog

from aex_models.audiences import Audience
from aex_runtime.errors import RateLimited, TemporarilyUnavailable
from aex_runtime.identity.principals import Principal
from aex_runtime.measures import UNMEASURED, CounterSpec, Measures

RETRY_AFTER_S = 1
RATE_LIMITED = CounterSpec(
    "aex_rate_limited_requests_total", "Requests that were refused because their caller sent too many"
)
_LOG_INTERVAL_S = 60.0
"""Seconds in which the refusals of one principal are logged once."""
_log = structlog.get_logger(__name__)

Key = TypeVar("Key", bound=Hashable)
_PrincipalKey = tuple[str, str, str]


class ConcurrencyLimiter:
    """A limit of operations in progress, per caller and in total.

    `operations` is their name in the plural, for messages. `busy_code` is the error code at the total limit. The last
    `reserved` slots are for preferred callers.
    """

    def __init__(self, per_caller: int, total: int, operations: str, busy_code: str, *, reserved: int = 0) -> None:
        self._per_caller, self._total, self._reserved = per_caller, total, reserved
        self._operations, self._busy_code = operations, busy_code
        self._slots: Counter[str] = Counter()

    @property
    def in_use(self) -> int:
        """Slots in use."""
        return self._slots.total()

    @contextmanager
    def acquire(self, caller: str, *, preferred: bool = False) -> Iterator[None]:
        """Hold a slot during the block, without waiting for one.

        Raises `RateLimited` at the caller's limit, and `TemporarilyUnavailable` at the total.
        """
        if self._slots[caller] >= self._per_caller:
            message = f"at most {self._per_caller} of your {self._operations} run at once"
            raise RateLimited(f"too_many_{self._operations}", message, retry_after_s=RETRY_AFTER_S)
        if self.in_use >= self._total - (0 if preferred else self._reserved):
            maximum = f"its maximum of {self._total} {self._operations}"
            message = f"this instance already runs {maximum}; retry after {RETRY_AFTER_S} s"
            raise TemporarilyUnavailable(self._busy_code, message, retry_after_s=RETRY_AFTER_S)
        self._slots[caller] += 1
        try:
            yield
        finally:
            self._slots[caller] -= 1
            if not self._slots[caller]:
                del self._slots[caller]


class TokenBuckets(Generic[Key]):
    """Token buckets by key. Each holds `burst` tokens at first and gains `per_s` a second up to `burst`.

    A bucket that is full again is forgotten. Above `max_keys` the least recently used one is forgotten too, as if it
    were full.
    """

    def __init__(self, per_s: float, burst: float, max_keys: int = 10_000) -> None:
        self._per_s, self._burst, self._max_keys = per_s, float(burst), max_keys
        self._buckets: OrderedDict[Key, tuple[float, float]] = OrderedDict()
        """Tokens of each key and the moment of its last use, in seconds."""

    def __len__(self) -> int:
        return len(self._buckets)

    def take_or_get_wait_s(self, key: Key, now_s: float, tokens: float = 1.0) -> float:
        """Take tokens and return 0; if too few, take none and return the seconds until there are enough."""
        level = self._level(self._buckets.pop(key, (self._burst, now_s)), now_s)
        missing = max(tokens - level, 0.0)
        self._buckets[key] = (level if missing else level - tokens, now_s)  # keeps the order of use
        self._drop_buckets(now_s)
        return missing / self._per_s if missing else 0.0

    def _level(self, bucket: tuple[float, float], now_s: float) -> float:
        level, at_s = bucket
        return min(level + max(now_s - at_s, 0.0) * self._per_s, self._burst)  # a clock may be set back

    def _drop_buckets(self, now_s: float) -> None:
        """Check the two least recently used buckets, and drop those that are full or too many.

        So only buckets are kept that were used within the time in which one fills up.
        """
        for _ in range(min(2, len(self._buckets) - 1)):
            key, bucket = next(iter(self._buckets.items()))
            if self._level(bucket, now_s) < self._burst and len(self._buckets) <= self._max_keys:
                return
            del self._buckets[key]


@dataclass(frozen=True, slots=True)
class RateBounds:
    """The rate limit of a principal: `per_s` requests a second (0: unlimited), `burst` after a pause."""

    per_s: float = 200.0
    burst: int = 10_000


class RateLimits:
    """The rate limiters of one process, one for each principal. Replicas do not share them."""

    def __init__(
        self,
        bounds: RateBounds,
        monotonic: Callable[[], float],
        max_principals: int = 10_000,
        measures: Measures = UNMEASURED,
    ) -> None:
        """Create limiters without any request so far. `monotonic` returns seconds that never decrease."""
        self._bounds, self._monotonic = bounds, monotonic
        self._buckets = TokenBuckets[_PrincipalKey](bounds.per_s, bounds.burst, max_principals)
        self._log_buckets = TokenBuckets[_PrincipalKey](1 / _LOG_INTERVAL_S, 1, max_principals)
        self._measures = measures

    def __len__(self) -> int:
        return len(self._buckets)

    def count_request_or_raise(self, principal: Principal) -> None:
        """Count one request of a principal. Above the limit raise `RateLimited` and do not count it.

        A refusal is also measured, and logged once a minute. All tokens with the same issuer, role and id share a
        limit. Services are exempt, since they wait for each other's answers and have limits of their own.
        """
        bounds = self._bounds
        if not bounds.per_s or principal.role is Audience.SERVICE:
            return
        now, key = self._monotonic(), (principal.issuer, principal.role.value, principal.id)
        if wait_s := self._buckets.take_or_get_wait_s(key, now):
            self._measures.count(RATE_LIMITED)
            if not self._log_buckets.take_or_get_wait_s(key, now):
                subject = {"principal": principal.id, "role": principal.role.value}
                _log.warning("rate_limited", **subject, **asdict(bounds))
            retry_after_s = math.ceil(wait_s)
            limit = f"{bounds.per_s:g} a second, {bounds.burst} at once after a pause"
            message = f"too many requests: {limit}; retry after {retry_after_s} s"
            raise RateLimited("rate_limited", message, retry_after_s=retry_after_s)

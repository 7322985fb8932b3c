"""How many requests a principal may send to one process: a bucket of tokens for each, one taken by each request."""

import math
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from aex_models.audiences import Audience
from aex_runtime.errors import RateLimited
from aex_runtime.identity.principal import Principal

_TELL_EVERY_S = 60.0
_EXEMPT = frozenset({Audience.SERVICE})
"""The platform itself: its services wait for each other's answers, and have bounds of their own."""
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class RateBounds:
    """`per_s`: requests that a principal may send for as long as it likes; 0: as many as it likes. `burst`: at once,
    after a while without any."""

    per_s: float = 200.0
    burst: int = 10_000


@dataclass(slots=True)
class _Bucket:
    """`level` tokens at the moment `at`; `quiet_until`: no refusal is logged before that."""

    level: float
    at: float
    quiet_until: float = -math.inf


class RateLimits:
    """The buckets of one process: replicas do not share them.

    At most `most` are kept. One that has filled up again is forgotten; where there are too many others, the one touched
    longest ago is, which is as if it had filled up.
    """

    def __init__(self, bounds: RateBounds, monotonic: Callable[[], float], most: int = 10_000) -> None:
        """`monotonic`: seconds that never go back."""
        self._bounds, self._monotonic, self._most = bounds, monotonic, most
        self._buckets: OrderedDict[tuple[str, str, str], _Bucket] = OrderedDict()
        self._refused = 0

    def __len__(self) -> int:
        return len(self._buckets)

    def take(self, principal: Principal) -> None:
        """Count one request. Raises `RateLimited` for one too many, and takes nothing for it.

        A principal is an id in a role by an issuer; who has many tokens has one bucket. The role service has none.
        """
        if not self._bounds.per_s or principal.role in _EXEMPT:
            return
        now = self._monotonic()
        key = (principal.issuer, principal.role.value, principal.id)
        bucket = self._buckets.pop(key, None) or _Bucket(float(self._bounds.burst), now)
        self._buckets[key] = bucket  # the last is the one touched last
        bucket.level = min(bucket.level + (now - bucket.at) * self._bounds.per_s, float(self._bounds.burst))
        bucket.at = now
        self._forget(now)
        if bucket.level < 1:
            raise self._refusal(principal, bucket, now)
        bucket.level -= 1

    async def refused(self) -> float:
        """How many requests were refused since the process began."""
        return self._refused

    def _forget(self, now: float) -> None:
        """Each request looks at the two touched longest ago: no more are kept than were used while one fills up."""
        for _ in range(min(2, len(self._buckets) - 1)):
            key, bucket = next(iter(self._buckets.items()))
            full = bucket.level + (now - bucket.at) * self._bounds.per_s >= self._bounds.burst
            if not full and len(self._buckets) <= self._most:
                return
            del self._buckets[key]

    def _refusal(self, principal: Principal, bucket: _Bucket, now: float) -> RateLimited:
        self._refused += 1
        if now >= bucket.quiet_until:
            bucket.quiet_until = now + _TELL_EVERY_S
            _log.warning(
                "rate_limited",
                principal=principal.id,
                role=principal.role.value,
                per_s=self._bounds.per_s,
                burst=self._bounds.burst,
            )
        return RateLimited(
            "rate_limited",
            f"too many requests: {self._bounds.per_s:g} a second, {self._bounds.burst} at once after a pause",
            retry_after_s=math.ceil((1 - bucket.level) / self._bounds.per_s),
        )

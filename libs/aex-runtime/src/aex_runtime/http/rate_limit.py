"""How many requests a principal may send to one process: a bucket of tokens for each, one taken by each request."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from aex_models.audiences import Audience
from aex_runtime.errors import RateLimited
from aex_runtime.identity.principal import Principal
from aex_runtime.measures import UNMEASURED, CounterSpec, Measures
from aex_runtime.token_buckets import TokenBuckets

REFUSED = CounterSpec("aex_rate_limited_requests_total", "Requests refused: their caller sent too many")
_Key = tuple[str, str, str]
_TELL_EVERY_S = 60.0
"""A principal's refusals are logged once in this time."""
_EXEMPT = frozenset({Audience.SERVICE})
"""The platform itself: its services wait for each other's answers, and have bounds of their own."""
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class RateBounds:
    """`per_s`: requests that a principal may send for as long as it likes; 0: as many as it likes. `burst`: at once,
    after a while without any."""

    per_s: float = 200.0
    burst: int = 10_000


class RateLimits:
    """The buckets of one process: replicas do not share them."""

    def __init__(
        self,
        bounds: RateBounds,
        monotonic: Callable[[], float],
        most: int = 10_000,
        measures: Measures = UNMEASURED,
    ) -> None:
        """`monotonic`: seconds that never go back. `most`: principals that are remembered."""
        self._bounds, self._monotonic = bounds, monotonic
        self._buckets = TokenBuckets[_Key](bounds.per_s, bounds.burst, most)
        self._telling = TokenBuckets[_Key](1 / _TELL_EVERY_S, 1, most)
        self._measures = measures

    def __len__(self) -> int:
        return len(self._buckets)

    def take(self, principal: Principal) -> None:
        """Count one request. Raises `RateLimited` for one too many, and takes nothing for it.

        A principal is an id in a role by an issuer; who has many tokens has one bucket. The role service has none.
        """
        if not self._bounds.per_s or principal.role in _EXEMPT:
            return
        now, key = self._monotonic(), (principal.issuer, principal.role.value, principal.id)
        if wait_s := self._buckets.take(key, now):
            self._measures.count(REFUSED)
            if not self._telling.take(key, now):
                self._tell(principal)
            raise RateLimited(
                "rate_limited",
                f"too many requests: {self._bounds.per_s:g} a second, {self._bounds.burst} at once after a pause",
                retry_after_s=math.ceil(wait_s),
            )

    def _tell(self, principal: Principal) -> None:
        _log.warning(
            "rate_limited",
            principal=principal.id,
            role=principal.role.value,
            per_s=self._bounds.per_s,
            burst=self._bounds.burst,
        )

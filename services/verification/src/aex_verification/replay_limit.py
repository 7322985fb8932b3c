"""How often candidates may be posted that use no attempt: known ones, and those after an invalid one."""

import math
from collections import OrderedDict
from datetime import datetime

from aex_runtime.errors import RateLimited


class ReplayLimit:
    """A bucket for each contract: it holds `burst` of them and gains `per_s` each second.

    Only buckets that are not full are kept, at most `most` of them: the ones touched longest ago are forgotten first,
    which is as if they had filled up.
    """

    def __init__(self, burst: int = 300, per_s: float = 5.0, most: int = 10_000) -> None:
        self._burst, self._per_s, self._most = burst, per_s, most
        self._buckets: OrderedDict[str, tuple[float, datetime]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._buckets)

    def take(self, contract_id: str, now: datetime, tokens: float = 1.0) -> None:
        """One such candidate of this contract, as dear as `tokens` known ones. Raises `RateLimited` for too many."""
        level, since = self._buckets.pop(contract_id, (float(self._burst), now))
        passed_s = max((now - since).total_seconds(), 0.0)  # clocks are set back, too
        level = min(level + passed_s * self._per_s, float(self._burst))
        allowed = level >= tokens
        self._buckets[contract_id] = (level - tokens if allowed else level, now)
        if len(self._buckets) > self._most:
            self._buckets.popitem(last=False)
        if not allowed:
            raise RateLimited(
                "too_many_replays",
                "candidates that are known, or that follow an invalid one, were posted too often: "
                "the verdict of a known one stands, GET the attempt instead",
                retry_after_s=math.ceil((tokens - level) / self._per_s),
            )

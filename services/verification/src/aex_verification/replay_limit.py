"""How often candidates that are known already may be posted: each is answered from what is stored, but not for ever."""

import math
from collections import OrderedDict
from datetime import datetime

from aex_runtime.errors import RateLimited


class ReplayLimit:
    """A bucket for each contract: it holds `burst` replays and gains `per_s` of them each second.

    Only buckets that are not full are kept, at most `most` of them: the ones touched longest ago are forgotten first,
    which is as if they had filled up.
    """

    def __init__(self, burst: int = 60, per_s: float = 1.0, most: int = 10_000) -> None:
        self._burst, self._per_s, self._most = burst, per_s, most
        self._buckets: OrderedDict[str, tuple[float, datetime]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._buckets)

    def take(self, contract_id: str, now: datetime) -> None:
        """One replay of this contract. Raises `RateLimited` where its bucket is empty."""
        level, since = self._buckets.pop(contract_id, (float(self._burst), now))
        passed_s = max((now - since).total_seconds(), 0.0)  # clocks are set back, too
        level = min(level + passed_s * self._per_s, float(self._burst))
        allowed = level >= 1.0
        self._buckets[contract_id] = (level - 1.0 if allowed else level, now)
        if len(self._buckets) > self._most:
            self._buckets.popitem(last=False)
        if not allowed:
            raise RateLimited(
                "too_many_replays",
                "this candidate is known, and was posted too often: its verdict stands, GET the attempt instead",
                retry_after_s=math.ceil((1.0 - level) / self._per_s),
            )

"""How often each of many may do something: a bucket of tokens for each, from which each time takes some."""

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)


@dataclass(slots=True)
class _Bucket:
    """`level` tokens at the moment `at`."""

    level: float
    at: float


class TokenBuckets(Generic[Key]):
    """A bucket holds `burst` tokens and gains `per_s` each second; all are full at first.

    At most `most` are kept. One that has filled up again is forgotten; where there are too many others, the one touched
    longest ago is, which is as if it had filled up.
    """

    def __init__(self, per_s: float, burst: float, most: int = 10_000) -> None:
        self._per_s, self._burst, self._most = per_s, float(burst), most
        self._buckets: OrderedDict[Key, _Bucket] = OrderedDict()

    def __len__(self) -> int:
        return len(self._buckets)

    def take(self, key: Key, now_s: float, tokens: float = 1.0) -> float:
        """Take so many at a moment in seconds: 0 where they were there.

        Else nothing is taken, and the answer is for how many seconds there will be too few.
        """
        bucket = self._buckets.pop(key, None) or _Bucket(self._burst, now_s)
        self._buckets[key] = bucket  # the last is the one touched last
        bucket.level, bucket.at = self._level(bucket, now_s), now_s
        self._forget(now_s)
        if bucket.level < tokens:
            return (tokens - bucket.level) / self._per_s
        bucket.level -= tokens
        return 0.0

    def _level(self, bucket: _Bucket, now_s: float) -> float:
        passed_s = max(now_s - bucket.at, 0.0)  # clocks are set back, too
        return min(bucket.level + passed_s * self._per_s, self._burst)

    def _forget(self, now_s: float) -> None:
        """Each time looks at the two touched longest ago: no more are kept than were used while one fills up."""
        for _ in range(min(2, len(self._buckets) - 1)):
            key, bucket = next(iter(self._buckets.items()))
            if self._level(bucket, now_s) < self._burst and len(self._buckets) <= self._most:
                return
            del self._buckets[key]

"""How often candidates may be posted that use no attempt: known ones, and those after an invalid one."""

import math
from datetime import datetime

from aex_runtime.errors import RateLimited
from aex_runtime.token_buckets import TokenBuckets


class ReplayLimit:
    """A bucket for each contract: `burst` such candidates at once, `per_s` for as long as it likes."""

    def __init__(self, burst: int = 300, per_s: float = 5.0, most: int = 10_000) -> None:
        """`most`: contracts that are remembered."""
        self._buckets = TokenBuckets[str](per_s, burst, most)

    def __len__(self) -> int:
        return len(self._buckets)

    def take(self, contract_id: str, now: datetime, tokens: float = 1.0) -> None:
        """One such candidate of this contract, as dear as `tokens` known ones. Raises `RateLimited` for too many."""
        if wait_s := self._buckets.take(contract_id, now.timestamp(), tokens):
            raise RateLimited(
                "too_many_replays",
                "candidates that are known, or that follow an invalid one, were posted too often: "
                "the verdict of a known one stands, GET the attempt instead",
                retry_after_s=math.ceil(wait_s),
            )

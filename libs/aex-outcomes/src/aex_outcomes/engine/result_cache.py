"""What extractors found lately, for a candidate that is verified again soon."""

import hashlib
import json
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

_SIZE = 256


class ResultCache:
    """Metrics by digest of everything they depend on, for `ttl_s` seconds. Holds digests and numbers, never texts."""

    def __init__(self, ttl_s: float, monotonic: Callable[[], float]) -> None:
        self._ttl_s = ttl_s
        self._monotonic = monotonic
        self._kept: OrderedDict[str, tuple[float, Mapping[str, Any]]] = OrderedDict()

    def key(self, *parts: Any) -> str | None:
        """A digest of the parts; None where nothing is kept, or where a part is not JSON."""
        if not self._ttl_s:
            return None
        try:
            return hashlib.sha256(json.dumps(parts).encode()).hexdigest()
        except (TypeError, ValueError, RecursionError):
            return None

    def get(self, key: str | None) -> Mapping[str, Any] | None:
        """What was found less than `ttl_s` ago."""
        kept = self._kept.get(key) if key else None
        if kept is None or self._monotonic() - kept[0] >= self._ttl_s:
            return None
        return kept[1]

    def put(self, key: str | None, found: Mapping[str, Any]) -> None:
        """Remember what was found; the oldest goes where there are too many."""
        if key is None:
            return
        self._kept[key] = (self._monotonic(), found)
        self._kept.move_to_end(key)
        if len(self._kept) > _SIZE:
            self._kept.popitem(last=False)

"""A set of texts in eight bytes each: what an audit has met, for millions of records. Pure."""

from array import array
from bisect import bisect_left
from hashlib import blake2b
from itertools import pairwise

_BUCKETS = 256


class Met:
    """Texts by a keyed hash of 64 bits.

    With a random key nobody can make two records that collide; by chance it happens once in some 10⁷ audits of a
    million records, and would then hide one added record or report one twice.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._buckets = [array("Q") for _ in range(_BUCKETS)]
        self._sorted = [True] * _BUCKETS
        self.count = 0

    def add(self, text: str) -> None:
        """Add a text; a second time counts too."""
        met = self._hash(text)
        place = met % _BUCKETS
        self._buckets[place].append(met)
        self._sorted[place] = False
        self.count += 1

    def __contains__(self, text: str) -> bool:
        met = self._hash(text)
        bucket = self._bucket(met % _BUCKETS)
        at = bisect_left(bucket, met)
        return at < len(bucket) and bucket[at] == met

    def repeated(self) -> frozenset[int]:
        """The hashes of what was added more than once."""
        found: set[int] = set()
        for place in range(_BUCKETS):
            bucket = self._bucket(place)
            found.update(one for one, other in pairwise(bucket) if one == other)
        return frozenset(found)

    def is_among(self, text: str, hashes: frozenset[int]) -> bool:
        """Whether the text's hash is one of these."""
        return self._hash(text) in hashes

    def _hash(self, text: str) -> int:
        return int.from_bytes(blake2b(text.encode(), digest_size=8, key=self._key).digest())

    def _bucket(self, place: int) -> "array[int]":
        if not self._sorted[place]:
            self._buckets[place] = array("Q", sorted(self._buckets[place]))
            self._sorted[place] = True
        return self._buckets[place]

"""Findings of a ledger audit, checks of the hash chain, and a compact set of ids. Pure."""

import re
from array import array
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import blake2b
from itertools import pairwise
from typing import NamedTuple

from aex_models.frozen import Frozen, Sha256, StrictInt
from aex_settlement.rules.journal import GENESIS, JournalBatch, batch_hash

MAX_LISTED = 100
"""Findings that are listed; all are counted."""
_SEAL = re.compile(r"([1-9][0-9]{0,11}):([0-9a-f]{64})", re.ASCII)
_BUCKETS = 256


class Seal(Frozen):
    """A batch number and its hash: with it an audit finds a journal that was rewritten before this batch."""

    seq: StrictInt
    hash: Sha256

    def __str__(self) -> str:
        return f"{self.seq}:{self.hash}"


def parse_seal(text: str) -> Seal | None:
    """Return the seal written as `12:9f86d0…`; None for anything else."""
    match = _SEAL.fullmatch(text.strip())
    return Seal(seq=int(match[1]), hash=match[2]) if match else None


class AuditFinding(NamedTuple):
    """A defect: its stable code, the record, and the difference."""

    code: str
    subject: str
    detail: str


@dataclass(slots=True)
class AuditFindings:
    """The findings of an audit: the first `MAX_LISTED` listed, all of them counted."""

    listed: list[AuditFinding] = field(default_factory=list)
    total: int = 0
    first_broken_link: int | None = None
    """The number of the first batch at which the chain is broken."""

    def add(self, code: str, subject: str, detail: str) -> None:
        """Count a finding, and list it if it is among the first."""
        self.total += 1
        if len(self.listed) < MAX_LISTED:
            self.listed.append(AuditFinding(code, subject, detail))

    def add_broken_link(self, batch_seq: int, code: str, detail: str) -> None:
        """Add a finding about a batch at which the chain is broken; remember the first such batch."""
        if self.first_broken_link is None:
            self.first_broken_link = batch_seq
        self.add(code, f"batch {batch_seq}", detail)


@dataclass(frozen=True, slots=True)
class Link:
    """The end of the verified chain; its hash is None after a missing batch."""

    seq: int = 0
    hash: str | None = GENESIS
    sealed_at: datetime | None = None


def chain_problems(before: Link, batch: JournalBatch) -> Iterator[tuple[str, str]]:
    """Yield code and detail of each problem of a batch behind `before`."""
    if batch.hash != batch_hash(batch.seq, batch.sealed_at, batch.transactions, batch.previous_hash):
        yield "batch_altered", "its hash is not that of what it holds"
    if before.hash is not None and batch.previous_hash != before.hash:
        yield "chain_broken", f"it does not follow batch {before.seq}: its previous_hash is not the hash of that one"
    if before.sealed_at is not None and batch.sealed_at <= before.sealed_at:
        yield "batch_altered", f"it was not sealed after batch {before.seq}"


class CompactHashSet:
    """Texts in eight bytes each, by a keyed 64-bit hash.

    Under a random key no caller can make two records collide. By chance it happens once in some 10⁷ audits of a million
    records; it would then hide one added record or report one twice.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._buckets = [array("Q") for _ in range(_BUCKETS)]
        self._sorted = [True] * _BUCKETS
        self.count = 0

    def add(self, text: str) -> None:
        """Add a text; a second addition counts too."""
        value = self._hash(text)
        index = value % _BUCKETS
        self._buckets[index].append(value)
        self._sorted[index] = False
        self.count += 1

    def __contains__(self, text: str) -> bool:
        value = self._hash(text)
        bucket = self._sorted_bucket(value % _BUCKETS)
        index = bisect_left(bucket, value)
        return index < len(bucket) and bucket[index] == value

    def find_repeated(self) -> frozenset[int]:
        """Return the hashes of texts that were added more than once."""
        buckets = map(self._sorted_bucket, range(_BUCKETS))
        return frozenset(one for bucket in buckets for one, other in pairwise(bucket) if one == other)

    def is_among(self, text: str, hashes: frozenset[int]) -> bool:
        return self._hash(text) in hashes

    def _hash(self, text: str) -> int:
        return int.from_bytes(blake2b(text.encode(), digest_size=8, key=self._key).digest())

    def _sorted_bucket(self, index: int) -> "array[int]":
        if not self._sorted[index]:
            self._buckets[index] = array("Q", sorted(self._buckets[index]))
            self._sorted[index] = True
        return self._buckets[index]

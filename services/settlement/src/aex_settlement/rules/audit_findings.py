"""Findings of a ledger audit, checks of the journal's hash chain, and a compact set of ids."""

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
from aex_settlement.rules.journal import GENESIS, JournalBatch, compute_batch_hash

MAX_LISTED = 100
"""Findings that are listed; further ones are only counted."""
_SEAL = re.compile(r"([1-9][0-9]{0,11}):([0-9a-f]{64})", re.ASCII)
_BUCKETS = 256


class Seal(Frozen):
    """Number and hash of a batch, kept outside the journal to detect that it was rewritten later."""

    seq: StrictInt
    hash: Sha256

    def __str__(self) -> str:
        return f"{self.seq}:{self.hash}"


def parse_seal(text: str) -> Seal | None:
    """Return the seal in a text such as `12:9f86d0…`; None for any other text."""
    match = _SEAL.fullmatch(text.strip())
    return Seal(seq=int(match[1]), hash=match[2]) if match else None


class AuditFinding(NamedTuple):
    """Defect that an audit found: stable code, record, and description."""

    code: str
    subject: str
    detail: str


@dataclass(slots=True)
class AuditFindings:
    """Findings of an audit. The first `MAX_LISTED` are listed; all are counted."""

    listed: list[AuditFinding] = field(default_factory=list)
    total: int = 0
    first_broken_link: int | None = None
    """Number of the first batch at which the hash chain is broken; None if it is intact."""

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
    """End of the verified part of the journal; `hash` is None after a missing batch."""

    seq: int = 0
    hash: str | None = GENESIS
    sealed_at: datetime | None = None


class ChainProblem(NamedTuple):
    """Defect of a batch, or of its link to the batch before."""

    code: str
    """Code of the finding."""
    detail: str
    """Description of the defect."""


def find_chain_problems(before: Link, batch: JournalBatch) -> Iterator[ChainProblem]:
    """Yield each defect of a batch that follows the link `before`."""
    if batch.hash != compute_batch_hash(batch.seq, batch.sealed_at, batch.transactions, batch.previous_hash):
        yield ChainProblem("batch_altered", "its hash is not that of what it holds")
    if before.hash is not None and batch.previous_hash != before.hash:
        detail = f"it does not follow batch {before.seq}: its previous_hash is not the hash of that one"
        yield ChainProblem("chain_broken", detail)
    if before.sealed_at is not None and batch.sealed_at <= before.sealed_at:
        yield ChainProblem("batch_altered", f"it was not sealed after batch {before.seq}")


class CompactHashSet:
    """Set of texts, stored as keyed 64-bit hashes.

    With a random key no caller can make two texts collide. By chance, two texts have the same hash once in about 10⁷
    audits of a million records. Such a collision would hide one added record or report one twice.
    """

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._buckets = [array("Q") for _ in range(_BUCKETS)]
        self._sorted = [True] * _BUCKETS
        self.count = 0

    def add(self, text: str) -> None:
        """Add a text; a text that is added twice is counted twice."""
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

    def find_repeated_hashes(self) -> frozenset[int]:
        """Return the hashes of texts that were added more than once."""
        buckets = map(self._sorted_bucket, range(_BUCKETS))
        return frozenset(one for bucket in buckets for one, other in pairwise(bucket) if one == other)

    def has_hash_in(self, text: str, hashes: frozenset[int]) -> bool:
        """Return whether the hash of a text is one of `hashes`."""
        return self._hash(text) in hashes

    def _hash(self, text: str) -> int:
        return int.from_bytes(blake2b(text.encode(), digest_size=8, key=self._key).digest())

    def _sorted_bucket(self, index: int) -> "array[int]":
        if not self._sorted[index]:
            self._buckets[index] = array("Q", sorted(self._buckets[index]))
            self._sorted[index] = True
        return self._buckets[index]

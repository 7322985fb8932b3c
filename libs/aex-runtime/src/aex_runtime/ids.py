"""Ids, injected: UUIDv7 with a prefix for their kind."""

import random
from typing import Protocol
from uuid import UUID

import uuid_utils


class Ids(Protocol):
    """Makes ids, and the randomness behind salts and jitter."""

    def new(self, prefix: str) -> str:
        """Return a new id such as `work_0192…`: sortable by time, without hyphens."""

    def salt(self) -> str:
        """Return 32 random bytes in hexadecimal."""

    def jitter(self) -> float:
        """Return a random number in [0, 1), which spreads retries."""


class RandomIds:
    """Ids from the operating system's randomness."""

    def __init__(self) -> None:
        self._random: random.Random = random.SystemRandom()

    def new(self, prefix: str) -> str:
        return f"{prefix}_{uuid_utils.uuid7().hex}"

    def salt(self) -> str:
        return self._random.randbytes(32).hex()

    def jitter(self) -> float:
        return self._random.random()


class SeededIds(RandomIds):
    """Ids from a seed: the same seed gives the same ids in the same order."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 reproducible on purpose; never used in production

    def new(self, prefix: str) -> str:
        return f"{prefix}_{UUID(int=self._random.getrandbits(128)).hex}"

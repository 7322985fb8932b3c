"""Ids and randomness, which are injected. An id is a UUIDv7 after a prefix for its kind."""

import random
from typing import Protocol
from uuid import UUID

import uuid_utils


class Ids(Protocol):
    """A source of ids and of random values."""

    def new(self, prefix: str) -> str:
        """Return a new id such as `work_0192…`, without hyphens. Ids sort by the time of their creation."""

    def salt(self) -> str:
        """Return 32 random bytes in hexadecimal."""

    def jitter(self) -> float:
        """Return a random number in [0, 1), by which retries are spread."""


class RandomIds:
    """Ids and random values from the operating system's randomness."""

    def __init__(self) -> None:
        self._random: random.Random = random.SystemRandom()

    def new(self, prefix: str) -> str:
        return f"{prefix}_{uuid_utils.uuid7().hex}"

    def salt(self) -> str:
        return self._random.randbytes(32).hex()

    def jitter(self) -> float:
        return self._random.random()


class SeededIds(RandomIds):
    """Ids and random values that depend on a seed only, for tests and the simulator."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)  # noqa: S311 reproducible on purpose; never used in production

    def new(self, prefix: str) -> str:
        return f"{prefix}_{UUID(int=self._random.getrandbits(128)).hex}"

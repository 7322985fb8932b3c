"""Who acts now: each step of a plan throws dice of its own, however many others act at once."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from uuid import UUID

REPLICAS = 2
"""Of every service."""


@dataclass(frozen=True, slots=True)
class Act:
    """One action under way, with its randomness and the replica that answers it."""

    dice: random.Random
    ids: random.Random
    replica: int


_NOW: ContextVar[Act] = ContextVar("act")


@contextmanager
def acting(seed: int, replica: int | None = None) -> Iterator[Act]:
    """Everything in this block, and every task begun in it, throws these dice. No `replica`: as the dice say."""
    dice = random.Random(seed)
    act = Act(dice, random.Random(seed + 1), dice.randrange(REPLICAS) if replica is None else replica)
    token = _NOW.set(act)
    try:
        yield act
    finally:
        _NOW.reset(token)


def replica_now() -> int:
    """The replica that the present act talks to; the first one where nobody acts."""
    act = _NOW.get(None)
    return act.replica if act else 0


class ActDice(random.Random):
    """The dice of whoever acts now."""

    def random(self) -> float:
        return _NOW.get().dice.random()

    def getrandbits(self, k: int, /) -> int:
        return _NOW.get().dice.getrandbits(k)


class ActIds:
    """Ids and jitter from the act that needs them: they stay the same where others are left out of a plan."""

    def new(self, prefix: str) -> str:
        return f"{prefix}_{UUID(int=_NOW.get().ids.getrandbits(128)).hex}"

    def salt(self) -> str:
        return _NOW.get().ids.randbytes(32).hex()

    def jitter(self) -> float:
        return _NOW.get().ids.random()

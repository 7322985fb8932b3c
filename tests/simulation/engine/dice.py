"""Random numbers of actions: each step of a plan has its own generator."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from uuid import UUID

REPLICAS = 2
"""Replicas of each service."""


@dataclass(frozen=True, slots=True)
class Act:
    """An action in progress, with its randomness and the replica that answers it."""

    dice: random.Random
    ids: random.Random
    replica: int


_NOW: ContextVar[Act] = ContextVar("act")


@contextmanager
def use_dice(seed: int, replica: int | None = None) -> Iterator[Act]:
    """Use the generator of `seed` in the block and in tasks started in it.

    Without `replica`, the generator chooses one.
    """
    dice = random.Random(seed)
    act = Act(dice, random.Random(seed + 1), dice.randrange(REPLICAS) if replica is None else replica)
    token = _NOW.set(act)
    try:
        yield act
    finally:
        _NOW.reset(token)


def current_replica() -> int:
    """Return the replica of the current action; the first one outside of actions."""
    act = _NOW.get(None)
    return act.replica if act else 0


class ActDice(random.Random):
    """Dice of the current action."""

    def random(self) -> float:
        return _NOW.get().dice.random()

    def getrandbits(self, k: int, /) -> int:
        return _NOW.get().dice.getrandbits(k)


class ActIds:
    """Ids and jitter from the generator of the current action.

    So they stay the same if other actions are removed from a plan.
    """

    def new(self, prefix: str) -> str:
        return f"{prefix}_{UUID(int=_NOW.get().ids.getrandbits(128)).hex}"

    def salt(self) -> str:
        return _NOW.get().ids.randbytes(32).hex()

    def jitter(self) -> float:
        return _NOW.get().ids.random()

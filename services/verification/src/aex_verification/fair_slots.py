"""Slots that callers get in turn, of which the last is reserved for callers that hold none."""

import asyncio
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass

from aex_outcomes.confinement.fair_queue import FairQueue


class NoSlot(Exception):
    """Error of a wait that ended without a slot, because callers with fewer waits have precedence."""


@dataclass(eq=False, slots=True)
class _Wait:
    caller: str
    turn: "asyncio.Future[None]"
    has_slot: bool = False


class FairSlots:
    """Limit of `total` slots, with at most `max_waiting` waits for them, on one event loop.

    Free slots go to the waiting callers in turn. The last free slot goes only to a caller that holds none, so that one
    caller cannot delay all others.
    """

    def __init__(self, total: int, max_waiting: int) -> None:
        self._total = total
        self._held = Counter[str]()
        self._waiting: FairQueue[_Wait] = FairQueue(max_waiting)

    @property
    def in_use(self) -> int:
        """Return the number of slots that are held."""
        return self._held.total()

    @property
    def waiting(self) -> int:
        """Return the number of waits."""
        return len(self._waiting)

    def may_wait(self, caller: str) -> bool:
        """Return whether `acquire` would let the caller wait, perhaps in place of a caller with more waits."""
        return self._waiting.has_space_by_displacing(caller)

    def try_acquire(self, caller: str, release_stack: ExitStack) -> bool:
        """Take a slot until the exit stack is closed; return False if none is free for the caller."""
        if not self._is_free_for(caller):
            return False
        self._held[caller] += 1
        release_stack.callback(self._release, caller)
        return True

    async def acquire(self, caller: str, release_stack: ExitStack) -> None:
        """Wait for a slot, and take it until the exit stack is closed.

        Raises `NoSlot` if too many wait already, or if this wait is displaced by a caller with fewer waits.
        """
        if self.try_acquire(caller, release_stack):
            return
        if not self.may_wait(caller):
            raise NoSlot
        displaced = self._waiting.remove_newest_of_longest_if_full()
        if displaced is not None and not displaced.turn.done():
            displaced.turn.set_exception(NoSlot())
        wait = _Wait(caller, asyncio.get_running_loop().create_future())
        self._waiting.put(caller, wait)
        try:
            await wait.turn
        except asyncio.CancelledError:
            self._waiting.remove_if_waiting(caller, wait)
            if wait.has_slot:  # it was cancelled in the moment of its turn
                self._release(caller)
            raise
        release_stack.callback(self._release, caller)

    def _is_free_for(self, caller: str) -> bool:
        free = self._total - self.in_use
        return free > 1 or (free == 1 and not self._held[caller])

    def _release(self, caller: str) -> None:
        """Release a slot of the caller, and give free slots to waits that may have one."""
        self._held[caller] -= 1
        if not self._held[caller]:
            del self._held[caller]
        while True:
            try:
                wait = self._waiting.take_next(self._is_free_for)
            except KeyError:
                return
            if not wait.turn.done():  # else its task was cancelled
                wait.has_slot = True
                self._held[wait.caller] += 1
                wait.turn.set_result(None)

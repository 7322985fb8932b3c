"""What a service gives the consumer and the timer sweeper to call, and the two ways a handler may end but return."""

from collections.abc import Awaitable, Callable
from datetime import timedelta

from aex_models.events import Event
from aex_runtime.timer_entry import Timer

EventHandler = Callable[[Event], Awaitable[None]]
"""Deals with one event. Called at least once, in any order: idempotent by event id and by state."""

TimerHandler = Callable[[Timer], Awaitable[None]]
"""Does what a timer is for. Called at least once; it may set the same timer anew."""


class Poison(Exception):
    """This will never succeed. An event goes to the dead letters; a timer is tried again at its slowest pace.

    `reason` is stored and logged: it names ids and codes, never content.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class RetryLater(Exception):
    """Not yet: try again after `delay`. Counted like any other failed delivery.

    `reason` is logged: it names ids and codes, never content.
    """

    def __init__(self, delay: timedelta, reason: str) -> None:
        super().__init__(reason)
        self.delay = delay
        self.reason = reason

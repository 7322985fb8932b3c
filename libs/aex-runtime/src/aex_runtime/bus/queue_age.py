"""Buses that can say how long a service's events have waited: our own queues. Of Pub/Sub's, Google tells
(`subscription/oldest_unacked_message_age`)."""

from typing import Protocol, TypeGuard


class TellsQueueAge(Protocol):
    """A bus that looks into its queues."""

    async def oldest_unhandled_s(self, service: str) -> float:
        """How long the first event that `service` has not acked yet has been in its queue, in seconds; 0 where there
        is none. Also where it was delivered, and is handled or put off. Raises `BusUnavailable`."""
        ...


def tells_queue_age(bus: object) -> TypeGuard[TellsQueueAge]:
    """Whether it has `oldest_unhandled_s`."""
    return hasattr(bus, "oldest_unhandled_s")

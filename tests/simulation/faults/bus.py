"""A bus whose messages fly in no order, and that takes all, some or none of a batch."""

from collections.abc import Sequence
from dataclasses import dataclass

from aex_models.events import TOPICS
from aex_runtime.bus.port import BusUnavailable, Message, Outgoing
from aex_runtime.bus.topology import route
from tests.simulation.faults.fate import Fate


@dataclass(slots=True)
class Flight:
    """A message on its way to one service."""

    service: str
    topic: str
    message: Message
    attempt: int = 0
    due_at: float = 0.0
    counted: bool = False
    """Whether its failures are its own, and it is given up on in the end."""


class SimulatedBus:
    """Messages in flight, in no order; the simulator takes them out as the dice say."""

    def __init__(self, fate: Fate) -> None:
        self._fate = fate
        self.flights: list[Flight] = []
        self.published: list[Flight] = []
        """Every message that ever was, as it set out."""

    async def publish(self, messages: Sequence[Outgoing]) -> None:
        fate = self._fate
        if fate.is_away("bus"):
            raise BusUnavailable("away")
        if not fate.happens("bus_refuses"):
            self._take(messages)
            return
        self._take(messages[: fate.share(len(messages))])
        raise BusUnavailable("no answer")

    def _take(self, messages: Sequence[Outgoing]) -> None:
        for service, pairs in route(TOPICS, messages).items():
            self.flights.extend(Flight(service, topic, message) for topic, message in pairs)
            self.published.extend(Flight(service, topic, message) for topic, message in pairs)

    async def consume(self, *_: object) -> None:
        raise NotImplementedError("the simulator delivers by itself")

    async def ping(self) -> None:
        return None

    async def close(self) -> None:
        return None

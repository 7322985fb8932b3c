"""Bus that delivers in any order and accepts all, some or none of a batch."""

from collections.abc import Sequence
from dataclasses import dataclass

from aex_models.events import TOPICS
from aex_runtime.bus.port import BusUnavailable, Message, Outgoing, route_to_subscribers
from tests.simulation.faults.fate import Fate


@dataclass(slots=True)
class MessageInFlight:
    """A message on its way to one service."""

    service: str
    topic: str
    message: Message
    attempt: int = 0
    due_at: float = 0.0
    counted: bool = False
    """True if failures count until the message becomes a dead letter."""


class SimulatedBus:
    """Messages in flight; the simulator delivers them in random order."""

    def __init__(self, fate: Fate) -> None:
        self._fate = fate
        self.in_flight: list[MessageInFlight] = []
        self.published: list[MessageInFlight] = []
        """Every published message."""

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
        for service, pairs in route_to_subscribers(TOPICS, messages).items():
            self.in_flight.extend(MessageInFlight(service, topic, message) for topic, message in pairs)
            self.published.extend(MessageInFlight(service, topic, message) for topic, message in pairs)

    async def consume(self, *_: object) -> None:
        raise NotImplementedError("the simulator delivers by itself")

    async def ping(self) -> None:
        return None

    async def close(self) -> None:
        return None

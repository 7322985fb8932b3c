"""The real bus, but for publications and deliveries that the process does not survive."""

from collections.abc import Sequence

from aex_runtime.bus.port import Bus, Delivery, Disposition, Message, Outgoing, Receiver
from tests.e2e.dying.deaths import Deaths, Moment


def publishing(topic: str) -> str:
    """Return the step of a publication: before the bus has the event, or while the outbox still has it."""
    return f"publish-{topic}"


def handling(topic: str) -> str:
    """Return the step of a delivery: on arrival, or handled and not yet acknowledged."""
    return f"handle-{topic}"


class DyingBus:
    """Asks before and after each message whether the process is to die over it."""

    def __init__(self, bus: Bus, deaths: Deaths) -> None:
        self._bus, self._deaths = bus, deaths

    async def publish(self, messages: Sequence[Outgoing]) -> None:
        self._ask(messages, Moment.BEFORE)
        await self._bus.publish(messages)
        self._ask(messages, Moment.AFTER)

    async def consume(self, service: str, topics: Sequence[str], receive: Receiver, concurrency: int) -> None:
        async def receive_or_die(delivery: Delivery) -> Disposition:
            step, subject = handling(delivery.topic), _subject(delivery.message)
            self._deaths.at(step, Moment.BEFORE, subject)
            disposition = await receive(delivery)
            self._deaths.at(step, Moment.AFTER, subject)
            return disposition

        await self._bus.consume(service, topics, receive_or_die, concurrency)

    async def ping(self) -> None:
        await self._bus.ping()

    async def close(self) -> None:
        await self._bus.close()

    def _ask(self, messages: Sequence[Outgoing], moment: Moment) -> None:
        for each in messages:
            self._deaths.at(publishing(each.topic), moment, _subject(each.message))


def _subject(message: Message) -> str:
    return message.attributes["ce-subject"]

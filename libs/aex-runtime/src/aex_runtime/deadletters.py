"""Dead letters: messages that a service gave up on, kept in its own store with the reason until they are replayed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import structlog
from pydantic import ConfigDict, Field

from aex_models.canonical import digest, sha256_hex
from aex_models.frozen import Frozen, Instant
from aex_runtime.bus.port import Bus, Message, Outgoing
from aex_runtime.clock import Clock, epoch_micros
from aex_runtime.store.port import Collection, Index, Scalar, Store, Transaction
from aex_runtime.store.table import Table

_MAX_REASON = 1_000
_COUNT_PAGE = 500
_log = structlog.get_logger(__name__)


class DeadLetter(Frozen):
    """What is known of a dead message, its content apart."""

    id: str
    topic: str
    event_id: str | None
    """None where the message could not be read as an event."""
    subject: str | None
    """The contract or work that the event is about."""
    reason: Annotated[str, Field(max_length=_MAX_REASON)]
    """Of the last time."""
    count: int
    """How often it was given up on."""
    first_at: Instant
    last_at: Instant


class WireMessage(Frozen):
    """A dead message exactly as it was on the wire, nothing added."""

    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")
    attributes: dict[str, str]
    data: bytes


@dataclass(frozen=True, slots=True)
class DeadLetterPage:
    """Dead letters, newest first, and the position after the last one (None: there are no more)."""

    items: Sequence[DeadLetter]
    next_after: tuple[Scalar, str] | None


class NoSuchDeadLetter(LookupError):
    """It is not there, or was replayed."""


def dead_letters_table(service: str) -> Table[DeadLetter]:
    """What is listed of a service's dead letters."""
    collection = Collection(f"{service}-dead-letters", (Index(order="last_at", direction="desc"),))
    return Table(collection, DeadLetter, lambda letter: {"last_at": epoch_micros(letter.last_at)})


def dead_letter_messages_table(service: str) -> Table[WireMessage]:
    """The messages of a service's dead letters."""
    return Table(Collection(f"{service}-dead-letter-messages"), WireMessage)


class DeadLetters:
    """A service's dead letters. The messages lie apart, so that to list and to count reads no content."""

    def __init__(self, service: str, store: Store, clock: Clock) -> None:
        self._service = service
        self._store = store
        self._clock = clock
        self._letters = dead_letters_table(service)
        self._messages = dead_letter_messages_table(service)

    async def record(self, topic: str, message: Message, reason: str, event_id: str | None, subject: str | None) -> str:
        """Keep a message; its id. The same event (or, unreadable, the same bytes) again raises the count alone."""
        key = _key(topic, message, event_id)
        now = self._clock.now()
        wire = WireMessage(attributes=message.attributes, data=message.data)

        async def write(transaction: Transaction) -> DeadLetter:
            seen = await self._letters.get(transaction, key)
            letter = DeadLetter(
                id=key,
                topic=topic,
                event_id=event_id,
                subject=subject,
                reason=reason[:_MAX_REASON],
                count=seen.record.count + 1 if seen else 1,
                first_at=seen.record.first_at if seen else now,
                last_at=now,
            )
            transaction.put(self._letters.collection, key, *self._letters.encode(letter))
            transaction.put(self._messages.collection, key, *self._messages.encode(wire))
            return letter

        letter = await self._store.transact(write)
        _log.error("dead_letter", id=key, topic=topic, reason=letter.reason, count=letter.count)
        return key

    async def list(self, limit: int = 50, after: tuple[Scalar, str] | None = None) -> DeadLetterPage:
        """A page of dead letters, the one that died last first."""
        found = await self._letters.find(self._store, order="last_at", direction="desc", after=after, limit=limit + 1)
        last = found[limit - 1].document if len(found) > limit else None
        return DeadLetterPage(
            [stored.record for stored in found[:limit]], (last.fields["last_at"], last.key) if last else None
        )

    async def get(self, dead_letter_id: str) -> tuple[DeadLetter, WireMessage]:
        """A dead letter with its message. Raises `NoSuchDeadLetter`."""
        letter = await self._letters.get(self._store, dead_letter_id)
        message = await self._messages.get(self._store, dead_letter_id)
        if letter is None or message is None:
            raise NoSuchDeadLetter(dead_letter_id)
        return letter.record, message.record

    async def replay(self, dead_letter_id: str, bus: Bus) -> None:
        """Publish it again, to this service alone, and forget it. Raises `NoSuchDeadLetter`, `BusUnavailable`.

        A letter that died again in the meantime stays. Killed in between, it is replayed twice; consumers are
        idempotent.
        """
        letter = await self._letters.get(self._store, dead_letter_id)
        _, wire = await self.get(dead_letter_id)
        if letter is None:
            raise NoSuchDeadLetter(dead_letter_id)
        message = Message(dict(wire.attributes), wire.data)
        await bus.publish([Outgoing(letter.record.topic, message, subscriber=self._service)])

        async def forget(transaction: Transaction) -> None:
            now = await self._letters.get(transaction, dead_letter_id)
            if now is None or now.record != letter.record:
                return
            transaction.delete(self._letters.collection, dead_letter_id)
            transaction.delete(self._messages.collection, dead_letter_id)

        await self._store.transact(forget)
        _log.info("dead_letter_replayed", id=dead_letter_id, topic=letter.record.topic)

    async def count(self, most: int | None = None) -> int:
        """How many there are, `most` at most. Reads what it counts, in pages."""
        total = 0
        after: tuple[Scalar, str] | None = None
        while True:
            page = await self.list(_COUNT_PAGE, after)
            total += len(page.items)
            after = page.next_after
            if most is not None and total >= most:
                return most
            if after is None:
                return total


def _key(topic: str, message: Message, event_id: str | None) -> str:
    cause = [topic, event_id] if event_id is not None else [topic, message.attributes, sha256_hex(message.data)]
    return f"dead_{digest(cause)[:40]}"

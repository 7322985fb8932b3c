"""Dead letters: messages that failed permanently, stored with the reason until they are replayed."""

from typing import Annotated

import structlog
from pydantic import ConfigDict, Field

from aex_models.canonical import canonical_digest, sha256_hex
from aex_models.frozen import Frozen, Instant
from aex_runtime.bus.port import Bus, Message, Outgoing
from aex_runtime.clock import Clock, epoch_micros
from aex_runtime.store.port import Collection, Index, Store, Transaction
from aex_runtime.store.table import ItemPage, Position, Table, iterate_items

_MAX_REASON = 1_000
_COUNT_PAGE = 500
_log = structlog.get_logger(__name__)


class DeadLetter(Frozen):
    """A message that failed permanently, without its content."""

    id: str
    topic: str
    event_id: str | None
    """Id of the event; None if the message is no valid event."""
    subject: str | None
    """The contract or work that the event is about; None if unknown."""
    reason: Annotated[str, Field(max_length=_MAX_REASON)]
    """Reason of the last failure."""
    count: int
    """Number of times that the message became a dead letter."""
    first_at: Instant
    last_at: Instant


class WireMessage(Frozen):
    """The content of a dead letter: the message exactly as the bus delivered it."""

    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")
    attributes: dict[str, str]
    data: bytes


class NoSuchDeadLetter(LookupError):
    """A dead letter that does not exist, or was replayed."""


def dead_letters_table(service: str) -> Table[DeadLetter]:
    """Return the table of a service's dead letters, without their content."""
    collection = Collection(f"{service}-dead-letters", (Index(order="last_at", direction="desc"),))
    return Table(collection, DeadLetter, lambda letter: {"last_at": epoch_micros(letter.last_at)})


def dead_letter_messages_table(service: str) -> Table[WireMessage]:
    """Return the table of the content of a service's dead letters."""
    return Table(Collection(f"{service}-dead-letter-messages"), WireMessage)


class DeadLetters:
    """A service's dead letters. Listing and counting do not read the messages, which are stored apart."""

    def __init__(self, service: str, store: Store, clock: Clock) -> None:
        self._service = service
        self._store = store
        self._clock = clock
        self._letters = dead_letters_table(service)
        self._messages = dead_letter_messages_table(service)

    async def store_or_count(
        self, topic: str, message: Message, reason: str, event_id: str | None, subject: str | None
    ) -> str:
        """Store a dead letter with its message, log an error, and return the dead letter's id.

        If the event is a dead letter already, its count is incremented. A message without a valid event is recognised
        by its content. The reason is cut to 1,000 characters.
        """
        cause = [topic, event_id] if event_id is not None else [topic, message.attributes, sha256_hex(message.data)]
        key = f"dead_{canonical_digest(cause)[:40]}"
        now = self._clock.now()
        wire = WireMessage(attributes=message.attributes, data=message.data)

        async def write(transaction: Transaction) -> DeadLetter:
            stored = await self._letters.get(transaction, key)
            letter = DeadLetter(
                id=key,
                topic=topic,
                event_id=event_id,
                subject=subject,
                reason=reason[:_MAX_REASON],
                count=stored.record.count + 1 if stored else 1,
                first_at=stored.record.first_at if stored else now,
                last_at=now,
            )
            transaction.put(self._letters.collection, key, *self._letters.encode(letter))
            transaction.put(self._messages.collection, key, *self._messages.encode(wire))
            return letter

        letter = await self._store.transact(write)
        _log.error("dead_letter", id=key, topic=topic, reason=letter.reason, count=letter.count)
        return key

    async def list(self, limit: int = 50, after: Position | None = None) -> ItemPage[DeadLetter]:
        """Return a page of dead letters, newest first."""
        found = await self._letters.find(self._store, order="last_at", direction="desc", after=after, limit=limit + 1)
        last = found[limit - 1].document if len(found) > limit else None
        return ItemPage(
            [stored.record for stored in found[:limit]], (last.fields["last_at"], last.key) if last else None
        )

    async def get(self, dead_letter_id: str) -> tuple[DeadLetter, WireMessage]:
        """Return a dead letter and its message. Raises `NoSuchDeadLetter`."""
        letter = await self._letters.get(self._store, dead_letter_id)
        message = await self._messages.get(self._store, dead_letter_id)
        if letter is None or message is None:
            raise NoSuchDeadLetter(dead_letter_id)
        return letter.record, message.record

    async def replay(self, dead_letter_id: str, bus: Bus) -> None:
        """Publish the message to this service alone, then delete the dead letter.

        Raises `NoSuchDeadLetter`, `BusUnavailable`. If the message has failed again meanwhile, the dead letter remains.
        After a crash between the two steps another replay publishes it twice; handlers are idempotent.
        """
        letter, wire = await self.get(dead_letter_id)
        message = Message(dict(wire.attributes), wire.data)
        await bus.publish([Outgoing(letter.topic, message, subscriber=self._service)])

        async def delete(transaction: Transaction) -> None:
            current = await self._letters.get(transaction, dead_letter_id)
            if current is not None and current.record == letter:
                transaction.delete(self._letters.collection, dead_letter_id)
                transaction.delete(self._messages.collection, dead_letter_id)

        await self._store.transact(delete)
        _log.info("dead_letter_replayed", id=dead_letter_id, topic=letter.topic)

    async def count(self, limit: int | None = None) -> int:
        """Return the number of dead letters, at most `limit`. It reads them page by page."""
        count = 0
        async for _ in iterate_items(self.list, _COUNT_PAGE, limit):
            count += 1
        return count

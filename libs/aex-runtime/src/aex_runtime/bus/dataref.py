"""The claim check of large events: their data are a blob, and row and message carry its reference.

The attribute is CloudEvents' `dataref`. Two limits make it necessary: a document and a message of Google's services
hold 1 and 10 MB.
"""

import asyncio
import re
from dataclasses import dataclass, replace

from aex_models.events import Event
from aex_runtime.blobs.port import BlobCorrupt, BlobMissing, Blobs, BlobTooLarge
from aex_runtime.bus.port import Message
from aex_runtime.bus.wire import DATAREF, encode, parse_data

MAX_INLINE_BYTES = 262_144
"""Encoded data above this size are not in row and message."""
AREA = "events"
_DATAREF = re.compile(rf"blob:{AREA}/([0-9a-f]{{64}})\?size=([0-9]{{1,10}})")
MISSING, CORRUPT, INVALID = "event_data_missing", "event_data_corrupt", "event_dataref_invalid"


class EventDataLost(Exception):
    """Data of an event that no later delivery can have. The text is a code."""


@dataclass(frozen=True, slots=True)
class EventData:
    """The data of large events in the blob store."""

    blobs: Blobs

    async def store(self, event: Event) -> Event:
        """Store data above `MAX_INLINE_BYTES`; return the event with a reference instead.

        A blob whose event is not committed remains without a reference. Raises `BlobUnavailable`.
        """
        content = (await asyncio.to_thread(encode, event)).data
        if len(content) <= MAX_INLINE_BYTES:
            return event
        blob = await self.blobs.put(AREA, content)
        return event.model_copy(update={"data": {}, "dataref": f"blob:{AREA}/{blob.digest}?size={blob.size}"})

    async def load(self, event: Event, message: Message) -> tuple[Event, Message]:
        """Return the event and its message with the data that the reference names, if there is one.

        Raises `EventDataLost`, `Undecodable`, `BlobUnavailable`.
        """
        if event.dataref is None:
            return event, message
        found = _DATAREF.fullmatch(event.dataref)
        if found is None:
            raise EventDataLost(INVALID)
        try:  # the port verifies the digest
            content = await self.blobs.get(AREA, found[1], max_bytes=int(found[2]))
        except BlobMissing:
            raise EventDataLost(MISSING) from None
        except (BlobCorrupt, BlobTooLarge):
            raise EventDataLost(CORRUPT) from None
        attributes = {name: value for name, value in message.attributes.items() if name != DATAREF}
        loaded = event.model_copy(update={"data": parse_data(content), "dataref": None})
        return loaded, replace(message, attributes=attributes, data=content)

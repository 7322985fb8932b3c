"""The data of large events, which are stored as blobs and replaced by a reference.

This is the claim-check pattern, with the attribute `dataref` of CloudEvents. A reference is needed because a Firestore
document holds at most 1 MB, and a Pub/Sub message at most 10 MB.
"""

import asyncio
import re
from dataclasses import dataclass, replace

from aex_models.events import Event
from aex_runtime.blobs.port import BlobCorrupt, BlobMissing, Blobs, BlobTooLarge
from aex_runtime.bus.port import Message
from aex_runtime.bus.wire import DATAREF, decode_event_data, encode_event

MAX_INLINE_BYTES = 262_144
"""Size of encoded data up to which they stay in the outbox row and in the message."""
AREA = "events"
_DATAREF = re.compile(rf"blob:{AREA}/([0-9a-f]{{64}})\?size=([0-9]{{1,10}})")
MISSING, CORRUPT, INVALID = "event_data_missing", "event_data_corrupt", "event_dataref_invalid"


class EventDataLost(Exception):
    """Data of an event that are missing, altered or wrongly referenced, permanently. The text is a code."""


@dataclass(frozen=True, slots=True)
class EventData:
    """Access to the data of large events in a blob store."""

    blobs: Blobs

    async def store_if_large(self, event: Event) -> Event:
        """Return a small event as it is; store the data of a large one and return it with a reference.

        Data are large above `MAX_INLINE_BYTES`. If the event is not committed afterwards, the blob remains without a
        reference. Raises `BlobUnavailable`.
        """
        content = (await asyncio.to_thread(encode_event, event)).data
        if len(content) <= MAX_INLINE_BYTES:
            return event
        blob = await self.blobs.put(AREA, content)
        return event.model_copy(update={"data": {}, "dataref": f"blob:{AREA}/{blob.digest}?size={blob.size}"})

    async def load_if_referenced(self, event: Event, message: Message) -> tuple[Event, Message]:
        """Return the event and its message with the data that they refer to; unchanged if they refer to none.

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
        loaded = event.model_copy(update={"data": decode_event_data(content), "dataref": None})
        return loaded, replace(message, attributes=attributes, data=content)

"""From messages to publish requests: checked against Pub/Sub's limits before anything is sent, few RPCs."""

from collections.abc import Sequence
from typing import Any

from google.pubsub_v1.types import PublishRequest, PubsubMessage

from aex_runtime.bus.port import BusError, Outgoing
from aex_runtime.bus.pubsub_marks import RESERVED, marked
from aex_runtime.bus.pubsub_topology import topic_path

# Pub/Sub's limits: https://cloud.google.com/pubsub/quotas#resource_limits
_MAX_REQUEST_BYTES = 10_000_000
_MAX_REQUEST_MESSAGES = 1_000
_MAX_ATTRIBUTES = 100
_MAX_KEY_BYTES = 256
_MAX_VALUE_BYTES = 1_024
_FORBIDDEN_PREFIX = "goog"
_ROOM_BYTES = 1_000
"""For the topic's name and the bus's own attributes."""
_PER_MESSAGE_BYTES = 8
"""What a message takes in a request beside its own size."""
# The bare protocol buffers: their friendlier wrappers cost more than all the rest of publishing.
_Wire: Any = PubsubMessage.pb()
_Request: Any = PublishRequest.pb()


def check_limits(outgoing: Outgoing) -> None:
    """Raise `BusError` for a message that Pub/Sub would refuse. The text quotes nothing of the message's data."""
    message, topic = outgoing.message, outgoing.topic
    if not message.data and not message.attributes:
        raise BusError(f"{topic}: a message needs data or an attribute")
    if len(message.attributes) > _MAX_ATTRIBUTES - len(RESERVED):
        raise BusError(f"{topic}: {len(message.attributes)} attributes; at most {_MAX_ATTRIBUTES - len(RESERVED)} go")
    size = len(message.data)
    for name, value in message.attributes.items():
        size += _attribute_bytes(topic, name, value)
    if size > _MAX_REQUEST_BYTES - _ROOM_BYTES:
        raise BusError(f"{topic}: a message of {size} bytes; at most {_MAX_REQUEST_BYTES - _ROOM_BYTES} go")


def _attribute_bytes(topic: str, name: str, value: str) -> int:
    try:
        name_bytes, value_bytes = len(name.encode()), len(value.encode())
    except UnicodeEncodeError:
        raise BusError(f"{topic}: an attribute is not Unicode text") from None
    if not 0 < name_bytes <= _MAX_KEY_BYTES or name.startswith(_FORBIDDEN_PREFIX) or name in RESERVED:
        raise BusError(f"{topic}: {name[:50]!r} is no name for an attribute: 1 to 256 bytes, not goog…, not the bus's")
    if value_bytes > _MAX_VALUE_BYTES:
        raise BusError(f"{topic}: attribute {name[:50]!r} has {value_bytes} bytes; at most {_MAX_VALUE_BYTES} go")
    return name_bytes + value_bytes + _PER_MESSAGE_BYTES


def publish_requests(
    project: str, messages: Sequence[tuple[Outgoing, int]], max_bytes: int = _MAX_REQUEST_BYTES - _ROOM_BYTES
) -> list[PublishRequest]:
    """One request for each topic, or several where they would be too large. With each message the attempts it took."""
    requests: list[PublishRequest] = []
    open_ones: dict[str, tuple[Any, int]] = {}
    for outgoing, attempts in messages:
        message = marked(outgoing.message, outgoing.subscriber, attempts)
        wire = _Wire(data=message.data, attributes=message.attributes)
        size = wire.ByteSize() + _PER_MESSAGE_BYTES
        request, used = open_ones.get(outgoing.topic, (None, 0))
        if request is None or used + size > max_bytes or len(request.messages) >= _MAX_REQUEST_MESSAGES:
            request, used = _Request(topic=topic_path(project, outgoing.topic)), 0
            requests.append(PublishRequest.wrap(request))
        request.messages.append(wire)
        open_ones[outgoing.topic] = request, used + size
    return requests

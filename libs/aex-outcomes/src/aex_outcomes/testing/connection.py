"""Connection of two processes: JSON messages with a length prefix and a maximum size."""

import json
import os
import struct
from typing import Any

from aex_outcomes.testing.value_decoder import ProtocolError

MAX_MESSAGE_BYTES = 4_000_000
"""Maximum bytes of a message between tester and candidate."""
_LENGTH = struct.Struct(">I")


class ConnectionLost(BaseException):
    """Error of a connection whose other end was closed.

    It is no `Exception`, so that a test that catches every exception does not go on without the candidate.
    """


class MessageTooLarge(ValueError):
    """Error of a message above the maximum size; nothing was sent."""


class MessageConnection:
    """Connection over one end of a socket pair, with blocking calls."""

    def __init__(self, descriptor: int, max_bytes: int = MAX_MESSAGE_BYTES) -> None:
        self._descriptor = descriptor
        self._max_bytes = max_bytes

    def send(self, message: Any) -> None:
        """Send a message. Raises `MessageTooLarge` and `ConnectionLost`."""
        body = _ENCODE(message).encode("ascii")
        if len(body) > self._max_bytes:
            raise MessageTooLarge(f"a message of {len(body)} bytes; the limit is {self._max_bytes}")
        remaining = memoryview(_LENGTH.pack(len(body)) + body)
        try:
            while remaining:
                remaining = remaining[os.write(self._descriptor, remaining) :]
        except OSError as error:
            raise ConnectionLost(error.strerror) from None

    def receive(self) -> Any:
        """Wait for the next message and return it. Raises `ConnectionLost` and `ProtocolError`."""
        length = _LENGTH.unpack(self._read(_LENGTH.size))[0]
        if length > self._max_bytes:
            raise ProtocolError(f"a message of {length} bytes; the limit is {self._max_bytes}")
        try:
            return json.loads(self._read(length))
        except (ValueError, RecursionError):
            raise ProtocolError("a message that is not JSON") from None

    def _read(self, size: int) -> bytes:
        parts = []
        while size:
            try:
                part = os.read(self._descriptor, min(size, 1 << 20))
            except OSError as error:
                raise ConnectionLost(error.strerror) from None
            if not part:
                raise ConnectionLost("closed")
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


_ENCODE = json.JSONEncoder(separators=(",", ":")).encode

"""The protocol between pool and worker: length-prefixed JSON, strictly read, since an answer is hostile."""

import json
import math
import re
import struct
from typing import Any, NoReturn

_LENGTH = struct.Struct(">I")
PREFIX_BYTES = _LENGTH.size
_SAFE_INTEGER = 2**53 - 1  # as in aex_models.numbers, whose import would cost each worker a quarter second at its start
_SURROGATE = re.compile(rb"(?<!\\)(?:\\\\)*\\u[dD][89a-fA-F]")
"""`encode` escapes control characters alone, so that an escaped surrogate is never an honest worker's."""


class BrokenFrame(ValueError):
    """Bytes that no honest peer sends."""


def encode(value: Any) -> bytes:
    """A JSON value as UTF-8 bytes. Raises `ValueError` or `TypeError` for NaN, infinities, lone surrogates,
    cycles and what is not JSON."""
    return _ENCODER.encode(value).encode()


def prefixed(body: bytes) -> bytes:
    """A body with its length before it, as it goes over the socket."""
    return _LENGTH.pack(len(body)) + body


def length_of(prefix: bytes | bytearray | memoryview) -> int:
    """The length that a frame's first four bytes tell."""
    length: int = _LENGTH.unpack_from(prefix)[0]
    return length


def decode(body: bytes) -> Any:
    """Read JSON from a worker that may be hostile. Raises `BrokenFrame` for what is not strict JSON: NaN,
    infinities, integers beyond ±(2^53 − 1), repeated keys, lone surrogates, nesting beyond the interpreter's depth."""
    if _has_surrogate(body):
        raise BrokenFrame("a lone surrogate")
    try:
        return _STRICT.decode(body.decode())
    except BrokenFrame:
        raise
    except (ValueError, RecursionError) as error:
        raise BrokenFrame(f"not JSON ({type(error).__name__})") from None


def _has_surrogate(body: bytes) -> bool:
    # The pattern begins with nothing that it could be looked up by, and takes 25 ns a byte: few answers need it.
    return (b"\\ud" in body or b"\\uD" in body) and _SURROGATE.search(body) is not None


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise BrokenFrame("a number that is not finite")
    return number


def _safe(text: str) -> int:
    if len(text) > 17 or abs(number := int(text)) > _SAFE_INTEGER:
        raise BrokenFrame("an integer beyond ±(2^53 − 1)")
    return number


def _refuse(_: str) -> NoReturn:
    raise BrokenFrame("a number that is not finite")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise BrokenFrame("a repeated key")
    return members


# Made once: `json.dumps` and `json.loads` with options make one for every call, for as long as a small message takes.
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_STRICT = json.JSONDecoder(parse_float=_finite, parse_int=_safe, parse_constant=_refuse, object_pairs_hook=_object)


class FrameReader:
    """Takes bytes as they come and gives one frame at a time; refuses frames above `limit` at their first bytes."""

    __slots__ = ("_buffer", "_limit")

    def __init__(self, limit: int) -> None:
        self._buffer = bytearray()
        self._limit = limit

    def feed(self, data: bytes) -> bytes | None:
        """The body of the frame that `data` completes, or None while it is not whole.

        Raises `BrokenFrame` for a length above the limit, and for bytes after the frame: a peer that is asked once
        answers once.
        """
        self._buffer += data
        if len(self._buffer) < PREFIX_BYTES:
            return None
        length = length_of(self._buffer)
        if length > self._limit:
            raise BrokenFrame(f"an answer of {length} bytes, above the limit of {self._limit}")
        if len(self._buffer) < PREFIX_BYTES + length:
            return None
        if len(self._buffer) > PREFIX_BYTES + length:
            raise BrokenFrame("bytes that nobody asked for")
        body = bytes(self._buffer[PREFIX_BYTES:])
        self._buffer.clear()
        return body

"""Protocol between pool and worker: JSON with a length prefix, whose answers may be hostile."""

import json
import math
import re
import struct
from dataclasses import dataclass
from typing import Any

from aex_outcomes.confinement.settings import ConfinementError, JobFailed, JobOutOfMemory

_LENGTH = struct.Struct(">I")
PREFIX_BYTES = _LENGTH.size
_SAFE_INTEGER = 2**53 - 1  # as in aex_models.numbers, whose import would cost each worker a quarter second at its start
_MAX_KIND, _MAX_MESSAGE = 100, 2_000
_RESULT, _ERROR, _FAILURE = {"result", "retire"}, {"error", "retire"}, {"kind", "message"}
_OUT_OF_MEMORY = {"memory": True, "retire": True}
_SURROGATE = re.compile(rb"(?<!\\)(?:\\\\)*\\u[dD][89a-fA-F]")
"""Escaped surrogate in JSON. An honest worker never sends one, because `encode` escapes only control characters."""


class BrokenFrame(ValueError):
    """Error for bytes that no honest worker sends."""


def encode_json(value: Any) -> bytes:
    """Encode a value as compact JSON in UTF-8.

    Raises `ValueError` or `TypeError` for NaN, infinities, lone surrogates, cycles and values that are not JSON.
    """
    return _ENCODER.encode(value).encode()


def add_length_prefix(body: bytes) -> bytes:
    """Return the body after its length in four bytes, as it is sent over the socket."""
    return _LENGTH.pack(len(body)) + body


def parse_length_prefix(prefix: bytes | bytearray | memoryview) -> int:
    """Return the length that the first four bytes of a frame state."""
    length: int = _LENGTH.unpack_from(prefix)[0]
    return length


def decode_untrusted_json(body: bytes) -> Any:
    """Decode the JSON of a worker that may be hostile.

    Raises `BrokenFrame` for anything but strict JSON. NaN, infinities, integers beyond ±(2^53 − 1), repeated keys, lone
    surrogates and too deep nesting are refused.
    """
    # The pattern has no literal prefix and takes 25 ns a byte: few answers need it.
    if (b"\\ud" in body or b"\\uD" in body) and _SURROGATE.search(body):
        raise BrokenFrame("a lone surrogate")
    try:
        return _STRICT.decode(body.decode())
    except BrokenFrame:
        raise
    except (ValueError, RecursionError) as error:
        raise BrokenFrame(f"not JSON ({type(error).__name__})") from None


def _parse_float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise BrokenFrame("a number that is not finite")
    return number


def _parse_integer(text: str) -> int:
    if len(text) > 17 or abs(number := int(text)) > _SAFE_INTEGER:
        raise BrokenFrame("an integer beyond ±(2^53 − 1)")
    return number


def _parse_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        raise BrokenFrame("a repeated key")
    return members


# Created once: `json.dumps` and `json.loads` with options create one per call, which doubles a small message's time.
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_STRICT = json.JSONDecoder(
    parse_float=_parse_float, parse_int=_parse_integer, parse_constant=_parse_float, object_pairs_hook=_parse_object
)


class FrameReader:
    """Reader of one frame at a time, which refuses a frame of more than `limit` bytes by its prefix."""

    def __init__(self, limit: int) -> None:
        self._buffer = bytearray()
        self._limit = limit

    def feed(self, data: bytes) -> bytes | None:
        """Add received bytes; return the body of the frame if it is complete, else None.

        Raises `BrokenFrame` for a length above the limit, and for bytes after the frame.
        """
        self._buffer += data
        if len(self._buffer) < PREFIX_BYTES:
            return None
        length = parse_length_prefix(self._buffer)
        if length > self._limit:
            raise BrokenFrame(f"an answer of {length} bytes, above the limit of {self._limit}")
        if len(self._buffer) < PREFIX_BYTES + length:
            return None
        if len(self._buffer) > PREFIX_BYTES + length:
            raise BrokenFrame("unrequested bytes")
        body = bytes(self._buffer[PREFIX_BYTES:])
        self._buffer.clear()
        return body


@dataclass(frozen=True, slots=True)
class JobAnswer:
    """Answer of a worker to a job."""

    result: dict[str, Any]
    """Result of the job; empty after an error."""
    error: ConfinementError | None
    retire: bool
    """True if the worker should be replaced."""


def decode_answer(body: bytes) -> JobAnswer:
    """Decode a worker's answer to a job. Raises `BrokenFrame` for one that no honest worker sends."""
    answer = decode_untrusted_json(body)
    if isinstance(answer, dict):
        retire = answer.get("retire")
        if answer.keys() == _RESULT and isinstance(answer["result"], dict) and isinstance(retire, bool):
            return JobAnswer(answer["result"], None, retire)
        if answer.keys() == _ERROR and isinstance(retire, bool):
            return JobAnswer({}, _read_failure(answer["error"]), retire)
        if answer == _OUT_OF_MEMORY:
            return JobAnswer({}, JobOutOfMemory("the job needs more memory than a worker may use"), retire=True)
    raise BrokenFrame("an answer of an unknown shape")


def _read_failure(error: Any) -> JobFailed:
    if isinstance(error, dict) and error.keys() == _FAILURE:
        kind, message = error["kind"], error["message"]
        is_text = isinstance(kind, str) and isinstance(message, str)
        if is_text and len(kind) <= _MAX_KIND and len(message) <= _MAX_MESSAGE:
            return JobFailed(kind, message)
    raise BrokenFrame("an error of an unknown shape")

"""The bus's own attributes on a message: put on when it is published, taken off before it is delivered."""

from collections.abc import Mapping
from dataclasses import dataclass

from aex_runtime.bus.port import Message

ADDRESSEE = "aex-to"
"""The one service that the message is for; the consumers of the others skip it."""
ATTEMPTS = "aex-attempts"
"""The attempts it had taken when a consumer that stopped published it again."""
RESERVED = frozenset({ADDRESSEE, ATTEMPTS})
_MAX_DIGITS = 6


@dataclass(frozen=True, slots=True)
class Unmarked:
    """A message as its publisher knows it, and what the bus had noted on it."""

    message: Message
    addressee: str | None
    attempts: int


def marked(message: Message, addressee: str | None, attempts: int = 0) -> Message:
    """The message with what a consumer is to know of it."""
    marks = {} if addressee is None else {ADDRESSEE: addressee}
    if attempts:
        marks[ATTEMPTS] = str(attempts)
    return Message(message.attributes | marks, message.data) if marks else message


def unmarked(attributes: Mapping[str, str], data: bytes) -> Unmarked:
    """Take off what `marked` put on. Others may publish too: a count that is none counts as 0."""
    plain = dict(attributes)
    addressee, attempts = plain.pop(ADDRESSEE, None), plain.pop(ATTEMPTS, "")
    known = attempts.isascii() and attempts.isdigit() and len(attempts) <= _MAX_DIGITS
    return Unmarked(Message(plain, data), addressee, int(attempts) if known else 0)

"""Where the text of an output lies, and which texts are taken."""

from collections.abc import Mapping
from typing import Any

from aex_outcomes.extractors.protocol import AgentFault
from aex_outcomes.pointer import is_pointer, resolve

TEXT_POINTER = "/text"
MAX_TEXT_LENGTH = 1_000_000
"""Code points of a text, and of all references together."""


UNFOLDED = 2
"""Times its greatest length that a text may have once normalised: NFKC makes 18 characters of some."""


def checked_pointer(pointer: str) -> str:
    """The pointer itself. Raises `ValueError` where it is none."""
    if not is_pointer(pointer):
        raise ValueError(f"not a JSON pointer: {pointer!r}")
    return pointer


def text_of(output: Any, pointer: str, max_length: int) -> str | None:
    """The text at the pointer, or None where there is none. Raises `AgentFault` for one that cannot be measured."""
    text = resolve(output, pointer)
    if not isinstance(text, str):
        return None
    if len(text) > max_length:
        raise AgentFault("text_too_long", f"the text has more than {max_length} characters")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise AgentFault("not_unicode", "the text holds lone surrogates") from None
    return text


def references_of(task_input: Mapping[str, Any]) -> tuple[str, ...]:
    """The reference texts of a work: none, one or several."""
    reference = task_input.get("reference")
    if isinstance(reference, str):
        return (reference,)
    if isinstance(reference, list | tuple) and all(isinstance(each, str) for each in reference):
        return tuple(reference)
    return ()

"""JSON pointers (RFC 6901): where in an output a text or a list of predictions lies."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from aex_models.canonical import escape_pointer


class Missing:
    """The kind of `MISSING`."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = Missing()
"""Nothing lies there. None would be a JSON null."""


def is_pointer(text: str) -> bool:
    """Whether `text` is a JSON pointer: empty, or segments that each begin with a slash."""
    bad_escape = text.replace("~0", "").replace("~1", "").count("~")
    return (not text or text.startswith("/")) and not bad_escape


def resolve(document: Any, pointer: str) -> Any:
    """What lies at the pointer, or `MISSING`. The empty pointer is the whole document."""
    found = document
    for segment in pointer.split("/")[1:]:
        key = segment.replace("~1", "/").replace("~0", "~")
        if isinstance(found, Mapping) and key in found:
            found = found[key]
        elif isinstance(found, Sequence) and not isinstance(found, str | bytes) and _is_index(key, len(found)):
            found = found[int(key)]
        else:
            return MISSING
    return found


def _is_index(key: str, length: int) -> bool:
    return key.isascii() and key.isdigit() and (key == "0" or key[0] != "0") and len(key) < 10 and int(key) < length


def join(*segments: str | int) -> str:
    """A pointer made of keys and positions."""
    return "".join(f"/{escape_pointer(str(segment))}" for segment in segments)

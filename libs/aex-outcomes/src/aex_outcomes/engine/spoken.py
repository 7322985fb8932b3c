"""What a candidate says beside its text: where a reviewer would read it, it may address them."""

from collections.abc import Iterator
from typing import Any

MAX_OTHER = 50_000
"""Code points in all; of the reasoning at most half as many."""
_SENTENCE_LIKE = 30
"""Code points from which on a name within an output counts as something said."""


def other_text(output: Any, text: str | None, told: int, reasoning: str | None) -> str | None:
    """The reasoning and the strings of the output, each once, a line for each; of `text` what is beyond `told`.

    Of what is too long its beginning and its end, so that no padding hides the rest. None where nothing is said.
    """
    strings = dict.fromkeys(_strings(output))
    if text is not None:
        strings.pop(text, None)
        strings[text[told:]] = None
    rest = "\n".join(filter(None, strings))
    thoughts = _ends(reasoning or "", MAX_OTHER // 2)
    said = "\n".join(filter(None, (thoughts, _ends(rest, MAX_OTHER - 1 - len(thoughts)))))
    return said or None


def strings_of(value: Any) -> str:
    """All strings within, a line for each, as they come."""
    return "\n".join(_strings(value))


def _strings(value: Any) -> Iterator[str]:
    """In the order of the document. Without recursion: nesting is the candidate's to choose."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
        elif isinstance(item, dict):
            for key, inner in reversed(item.items()):
                waiting.append(inner)
                if isinstance(key, str) and len(key) >= _SENTENCE_LIKE:
                    waiting.append(key)
        elif isinstance(item, list | tuple):
            waiting.extend(reversed(item))


def _ends(text: str, size: int) -> str:
    if len(text) <= size:
        return text
    half = (size - 1) // 2
    return f"{text[:half]}\n{text[-half:]}"

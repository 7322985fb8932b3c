"""Thresholds, ranges and values in words, and foreign text in XML, in bounded lines."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from aex_models.criteria import SuccessCriterion
from aex_models.numbers import format_as_written, is_finite_number
from aex_models.results import CriterionResult

MAX_BYTES = 4_096
"""Bytes of all feedback together."""
_IN_TEXT = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_IN_ATTRIBUTE = {**_IN_TEXT, '"': "&quot;"}
_MAX_DETAIL = 300
_SMALL = 1e-3
"""The value below which six decimals no longer distinguish two p-values."""
_NEEDS = {"gte": "at least", "gt": "more than", "lte": "at most", "lt": "less than", "eq": "", "neq": "anything but"}


def format_requirement(criterion: SuccessCriterion | CriterionResult) -> str:
    """Return a criterion's threshold in words: `at least 0.4`, `100 to 500`, `all of: alpha, beta`."""
    threshold, comparison = criterion.threshold, criterion.comparison.value
    if comparison in {"contains_all", "contains_any"}:
        quantity = "all" if comparison == "contains_all" else "any"
        return f"{quantity} of: {truncate(', '.join(threshold))}"
    if comparison == "in_range":
        return format_bounds(threshold)
    if isinstance(threshold, Mapping):
        return "to match the criterion's schema" if comparison == "eq" else "not to match the criterion's schema"
    return f"{_NEEDS[comparison]} {format_value(threshold)}".strip()


def format_bounds(threshold: Mapping[str, Any]) -> str:
    """Return a range with one end or both in words: `at least 3`, `100 to 500`."""
    low, high = (format_value(threshold[end]) if end in threshold else "" for end in ("min", "max"))
    return f"{low} to {high}" if low and high else f"at least {low}" if low else f"at most {high}"


def format_value(value: Any) -> str:
    """Return a value in words: numbers with at most six decimals, small ones with six digits."""
    if isinstance(value, bool):
        return str(value).lower()
    if not is_finite_number(value):
        return truncate(str(value))
    if float(value).is_integer() and abs(value) < 1e15:
        return str(int(value))
    return format_as_written(round(value, 6) if abs(value) >= _SMALL else float(f"{value:.6g}"))


def truncate(text: str) -> str:
    """Return the text, cut when it is long."""
    return text if len(text) <= _MAX_DETAIL else f"{text[:_MAX_DETAIL]}…"


def escape_text(text: str, max_bytes: int) -> str:
    """Escape the text of an XML element into one line, with U+FFFD for what XML 1.0 cannot hold.

    Quotes stay as they are; use `escape_attribute` for attributes.
    """
    return to_one_line(text, max_bytes, _IN_TEXT)


def escape_attribute(text: str, max_bytes: int) -> str:
    """Escape the text of an attribute in double quotes into one line."""
    return to_one_line(text, max_bytes, _IN_ATTRIBUTE)


def to_one_line(text: str, max_bytes: int, replacements: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return the text in one line, without escapes but these `replacements`, cut at `max_bytes`."""
    written: list[str] = []
    remaining = max_bytes
    for character in text:
        written.append(replacements.get(character) or _replace_control(character))
        remaining -= len(written[-1].encode())
        if remaining < 0:
            return "".join([*written[:-1], "…"])
    return "".join(written)


def render_element(opening: str, head: Sequence[str], items: Sequence[str], closing: str) -> str:
    """Render an element of at most `MAX_BYTES`: head, fitting items, and the number of the others.

    All lines are escaped already. Without the items they fit.
    """
    lines = [opening, *head]
    overflow_line = "- … and {} more"
    remaining = MAX_BYTES - len("\n".join([*lines, overflow_line.format(10**6), closing]).encode())
    for position, item in enumerate(items):
        remaining -= len(item.encode()) + 1
        if remaining < 0:
            lines.append(overflow_line.format(len(items) - position))
            break
        lines.append(item)
    return "\n".join([*lines, closing])


def _replace_control(character: str) -> str:
    if character in "\t\n\r\x85\u2028\u2029":
        return " "
    code = ord(character)
    is_allowed = 0x20 <= code < 0x7F or 0xA0 <= code <= 0xD7FF or 0xE000 <= code <= 0xFFFD or code >= 0x10000
    return character if is_allowed else "\ufffd"

"""Text of feedback to agents: thresholds and values in words, and untrusted text escaped for XML."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from aex_models.criteria import SuccessCriterion
from aex_models.numbers import format_as_written, is_finite_number
from aex_models.results import CriterionResult

MAX_BYTES = 4_096
"""Maximum bytes of one feedback text."""
_IN_TEXT = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_IN_ATTRIBUTE = {**_IN_TEXT, '"': "&quot;"}
_MAX_DETAIL = 300
_SMALL = 1e-3
"""Magnitude below which values get six significant digits instead of six decimals."""
_NEEDS = {"gte": "at least", "gt": "more than", "lte": "at most", "lt": "less than", "eq": "", "neq": "anything but"}


def format_requirement(criterion: SuccessCriterion | CriterionResult) -> str:
    """Return what a criterion requires, in words: `at least 0.4`, `100 to 500`, `all of: alpha, beta`."""
    threshold, comparison = criterion.threshold, criterion.comparison.value
    if comparison in {"contains_all", "contains_any"}:
        quantity = "all" if comparison == "contains_all" else "any"
        return f"{quantity} of: {truncate(', '.join(threshold))}"
    if comparison == "in_range":
        return format_bounds(threshold)
    if isinstance(threshold, Mapping):
        return "to match the criterion's schema" if comparison == "eq" else "not to match the criterion's schema"
    return f"{_NEEDS[comparison]} {format_value(threshold)}".strip()


def format_bounds(bounds: Mapping[str, Any]) -> str:
    """Return a range in words: `at least 3`, `100 to 500`. `bounds` has the key `min`, `max` or both."""
    low, high = (format_value(bounds[end]) if end in bounds else "" for end in ("min", "max"))
    return f"{low} to {high}" if low and high else f"at least {low}" if low else f"at most {high}"


def format_value(value: Any) -> str:
    """Return a value as text: a number with at most six decimals, other values cut by `truncate`.

    Numbers below 0.001 have six significant digits.
    """
    if isinstance(value, bool):
        return str(value).lower()
    if not is_finite_number(value):
        return truncate(str(value))
    if float(value).is_integer() and abs(value) < 1e15:
        return str(int(value))
    return format_as_written(round(value, 6) if abs(value) >= _SMALL else float(f"{value:.6g}"))


def truncate(text: str) -> str:
    """Return the text, cut after 300 characters with an ellipsis."""
    return text if len(text) <= _MAX_DETAIL else f"{text[:_MAX_DETAIL]}…"


def escape_element_text(text: str, cut_at_bytes: int) -> str:
    """Escape untrusted text for the content of an XML element: one line, cut after `cut_at_bytes`.

    Line breaks become blanks, and characters that XML 1.0 cannot hold become U+FFFD. Quotes stay as they are; use
    `escape_attribute` for attributes.
    """
    return to_one_line(text, cut_at_bytes, _IN_TEXT)


def escape_attribute(text: str, cut_at_bytes: int) -> str:
    """Escape untrusted text for an XML attribute in double quotes: one line, cut after `cut_at_bytes`."""
    return to_one_line(text, cut_at_bytes, _IN_ATTRIBUTE)


def to_one_line(text: str, cut_at_bytes: int, replacements: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return the text in one line, cut with an ellipsis after `cut_at_bytes` of UTF-8.

    Line breaks become blanks, and control characters become U+FFFD. `replacements` are applied to single characters.
    """
    written: list[str] = []
    remaining = cut_at_bytes
    for character in text:
        written.append(replacements.get(character) or _replace_control(character))
        remaining -= len(written[-1].encode())
        if remaining < 0:
            return "".join([*written[:-1], "…"])
    return "".join(written)


def render_bounded_element(opening: str, head: Sequence[str], items: Sequence[str], closing: str) -> str:
    """Return an XML element of at most `MAX_BYTES`: its head lines, and as many item lines as fit.

    A last line counts the omitted items. `opening` and `closing` are the element's tags. All lines must be escaped. The
    head must fit.
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

"""What an agent is told of a rejection: compact, deterministic XML, at most 4 kB (spec file 3)."""

from collections.abc import Mapping, Sequence
from typing import Any

from aex_models.criteria import SuccessCriterion
from aex_models.numbers import is_number, text_of
from aex_models.results import CUSTOM_METRIC_FAILED, CriterionResult, VerificationResult
from aex_models.work import FeedbackLevel

METRIC_MISSING = "metric_missing"
MAX_BYTES = 4_096
MAX_MESSAGE = 2_000
"""Bytes of a verifier's own message."""
_MAX_CODE = 300
_MAX_LINE = 1_200
_MAX_DETAIL = 300
_CLOSING = "</verification_rejected>"
_NEEDS = {"gte": "at least", "gt": "more than", "lte": "at most", "lt": "less than", "eq": "", "neq": "anything but"}
_ESCAPES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"}


def render_feedback(
    result: VerificationResult | None,
    *,
    attempt: int,
    max_attempts: int,
    level: FeedbackLevel,
    code: str = "criteria_not_met",
    message: str | None = None,
) -> str:
    """The feedback on a rejected candidate.

    `code` and `message` are a named verifier's; without a message the summary counts the unmet criteria.
    Below level `full` no value is told, and at `none` nothing but the first line: code and attempts.
    """
    opening = (
        f'<verification_rejected code="{_escaped(code, _MAX_CODE)}" attempt="{attempt}" max_attempts="{max_attempts}">'
    )
    if level is FeedbackLevel.NONE:
        return f"{opening}\n{_CLOSING}"
    results = result.criterion_results if result else ()
    unmet = [each for each in results if not each.met]
    lines = _fitting(
        [opening, f"Summary: {_summary(message, len(unmet), len(results))}"],
        [f"- {_line(each, level)}" for each in unmet],
    )
    return "\n".join([*lines, _CLOSING])


def _summary(message: str | None, unmet: int, total: int) -> str:
    return f"{unmet} of {total} criteria not met." if message is None else _escaped(message, MAX_MESSAGE)


def _fitting(head: Sequence[str], items: Sequence[str]) -> list[str]:
    """As many lines as fit into the limit, and how many did not."""
    rest = "- … and {} more"
    room = MAX_BYTES - len("\n".join([*head, rest.format(10**6), _CLOSING]).encode())
    lines = list(head)
    for position, item in enumerate(items):
        room -= len(item.encode()) + 1
        if room < 0:
            return [*lines, rest.format(len(items) - position)]
        lines.append(item)
    return lines


def _line(result: CriterionResult, level: FeedbackLevel) -> str:
    if level is not FeedbackLevel.FULL:
        return _escaped(f"{result.metric}: not met" + (f" ({result.error.code})" if result.error else ""), _MAX_LINE)
    return _escaped(f"{result.metric}: {_found(result)}, needs {needed(result)}", _MAX_LINE)


def _found(result: CriterionResult) -> str:
    if result.error is None:
        return _written(result.value)
    if result.error.code == METRIC_MISSING:
        return "missing"
    if result.error.code == CUSTOM_METRIC_FAILED:  # what custom code says is never the agent's to read
        return result.error.code
    return f"{result.error.code}: {_short(result.error.message)}"


def needed(criterion: SuccessCriterion | CriterionResult) -> str:
    """A criterion's threshold in words: `at least 0.4`, `100 to 500`, `all of: alpha, beta`."""
    threshold, comparison = criterion.threshold, criterion.comparison.value
    if comparison in {"contains_all", "contains_any"}:
        quantity = "all" if comparison == "contains_all" else "any"
        return f"{quantity} of: {_short(', '.join(threshold))}"
    if comparison == "in_range":
        return _range(threshold)
    if isinstance(threshold, Mapping):
        return "to match the criterion's schema" if comparison == "eq" else "not to match the criterion's schema"
    return f"{_NEEDS[comparison]} {_written(threshold)}".strip()


def _range(threshold: Mapping[str, Any]) -> str:
    if "min" not in threshold:
        return f"at most {_written(threshold['max'])}"
    if "max" not in threshold:
        return f"at least {_written(threshold['min'])}"
    return f"{_written(threshold['min'])} to {_written(threshold['max'])}"


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if is_number(value):
        return str(int(value)) if float(value).is_integer() and abs(value) < 1e15 else text_of(round(value, 6))
    return _short(str(value))


def _short(text: str) -> str:
    return text if len(text) <= _MAX_DETAIL else f"{text[:_MAX_DETAIL]}…"


def _escaped(text: str, max_bytes: int) -> str:
    """Text for XML 1.0 in one line: what XML cannot hold becomes U+FFFD, line breaks and tabs become blanks."""
    written: list[str] = []
    room = max_bytes
    for character in text:
        written.append(_ESCAPES.get(character) or _allowed(character))
        room -= len(written[-1].encode())
        if room < 0:
            return "".join([*written[:-1], "…"])
    return "".join(written)


def _allowed(character: str) -> str:
    if character in "\t\n\r\x85\u2028\u2029":
        return " "
    code = ord(character)
    held = 0x20 <= code < 0x7F or 0xA0 <= code <= 0xD7FF or 0xE000 <= code <= 0xFFFD or code >= 0x10000
    return character if held else "\ufffd"

"""What a threshold may be: its kind is told from the packaged default and its name."""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, TypeGuard

_SHARE = re.compile(r"(similarity|share|density|rouge_l|bleu|likeness)$")
_MILLISECONDS = re.compile(r"_ms$")
_WINDOW = ("window_s", 60, 86_400)
_ABOVE: Mapping[str, float] = {"critical_factor": 1, "max_robust_z": 0}
_ASCENDING = (("minor_relative", "major_relative"),)
"""The first has to be less than the second, in every rule that has both."""


def expected_instead(name: str, default: Any, value: Any) -> str | None:
    """What a single value that is not of a threshold's kind should have been; None where it is right."""
    if isinstance(default, bool):
        return None if isinstance(value, bool) else "true or false"
    if _SHARE.search(name):
        return None if is_finite(value) and 0 <= value <= 1 else "a share, from 0 to 1"
    if name == _WINDOW[0]:
        is_window = _is_whole(value) and _WINDOW[1] <= value <= _WINDOW[2]
        return None if is_window else f"whole seconds, from {_WINDOW[1]} to {_WINDOW[2]}"
    if name in _ABOVE:
        return None if is_finite(value) and value > _ABOVE[name] else f"a number greater than {_ABOVE[name]}"
    if isinstance(default, int) and not _MILLISECONDS.search(name):
        return None if _is_whole(value) and value >= 1 else "a whole number, 1 or more"
    return None if is_finite(value) and value >= 0 else "a number that is not negative"


def counted(default: Any, value: Any) -> Any:
    """A whole number that was written with an exponent, as the integer that a count is."""
    is_count = isinstance(default, int) and not isinstance(default, bool)
    return int(value) if is_count and isinstance(value, float) and value.is_integer() else value


def out_of_order(thresholds: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Those that have to be less than another one and are not, each with what is expected of it."""
    for lower, upper in _ASCENDING:
        low, high = thresholds.get(lower), thresholds.get(upper)
        if is_finite(low) and is_finite(high) and low >= high:
            yield lower, f"less than {upper}, which is {high}"


def is_finite(value: Any) -> TypeGuard[float]:
    """Whether it is a finite number, and not a boolean."""
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_whole(value: Any) -> bool:
    return is_finite(value) and float(value).is_integer()

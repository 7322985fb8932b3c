"""Patterns on RE2: time linear in the text, whoever wrote the pattern."""

from typing import Any, Protocol

from aex_outcomes.kernels.pattern_places import places

MAX_PATTERN_MEMORY = 2 << 20
"""Bytes that RE2 may use for one compiled pattern: what needs more is refused."""

MAX_PLACES = 600
"""Of a pattern: with so many, a million hostile characters take some two seconds; with the thousands that a few counted
repetitions make, minutes."""


class InvalidPattern(ValueError):
    """RE2 does not take the pattern, or a search would take too long. The message does not quote it: patterns are
    evaluation data."""


class Pattern(Protocol):
    """A compiled pattern."""

    def search(self, text: str) -> Any:
        """A match anywhere in the text, or None."""
        ...


def check_pattern(pattern: str) -> None:
    """Raise `InvalidPattern` for what does not compile, and for what repeats too much to be searched in time."""
    compile_pattern(pattern)
    found = places(pattern)
    if found > MAX_PLACES:
        raise InvalidPattern(
            f"Classes and repetitions, their counts multiplied out, come to {found} places; at most {MAX_PLACES} are "
            "taken, for long texts take too long with more: lower the counts ({0,200}), or write + or * instead"
        )


def compile_pattern(pattern: str) -> Pattern:
    """Compile for `search`. Raises `InvalidPattern`."""
    import re2  # noqa: PLC0415 loaded by the works that have a pattern

    options = re2.Options()
    options.log_errors = False  # RE2 would write the pattern to stderr
    options.max_mem = MAX_PATTERN_MEMORY
    try:
        compiled: Pattern = re2.compile(pattern, options)
    except (re2.error, UnicodeEncodeError) as error:
        raise InvalidPattern(f"Not an RE2 pattern{_reason(error)}; RE2 has no lookaround and no back-references") from (
            None
        )
    return compiled


def _reason(error: Exception) -> str:
    """RE2 names the kind of error first, then quotes the pattern after a colon."""
    text = error.args[0] if error.args else b""
    kind = text.split(b":")[0].decode(errors="replace") if isinstance(text, bytes) else ""
    return f" ({kind})" if kind else ""

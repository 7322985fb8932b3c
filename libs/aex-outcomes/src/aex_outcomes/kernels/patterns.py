"""Regular expressions on RE2, which takes time linear in the text, with a limit on their complexity.

RE2's time is the length of the text times the states that it follows at a character. A million characters take about a
second for 200 states, and a counted repetition of a few characters can make thousands of states.
"""

import re
from dataclasses import dataclass
from typing import Any, Protocol

_TOKEN = re.compile(
    r"""
    (?P<quoted>\\Q.*?(?:\\E|\Z))
  | (?P<kind>\\(?:[pP](?:\{[^}]*\}|.)|[dDwWsSC]))
  | (?P<literal>\\(?:x\{[^}]*\}|x[0-9A-Fa-f]{2}|[0-7]{1,3}|.))
  | (?P<class>\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\])
  | (?P<flags>\(\?[A-Za-z-]+\))
  | (?P<open>\((?:\?(?:P?<[^>]*>|[A-Za-z-]*:))?)
  | (?P<close>\))
  | (?P<bar>\|)
  | (?P<counted>\{(?P<least>\d+)(?:,(?P<most>\d*))?\}\??)
  | (?P<repeat>[*+?]\??)
  | (?P<dot>\.)
    """,
    re.VERBOSE | re.DOTALL,
)
_SINGLE_STATE = frozenset({"kind", "class", "dot"})


@dataclass(slots=True)
class _Group:
    """Count of the states of a pattern's group, while it is read."""

    before: int = 0
    """States of all atoms before the last one."""
    last: int = 0
    """States of the last atom, which a repetition may multiply."""
    choice: bool = False
    """True if the group has alternatives."""

    def add_atom(self, states: int) -> None:
        """Add an atom with this number of states as the last one."""
        self.before, self.last = self.before + self.last, states

    @property
    def complexity(self) -> int:
        """Return the number of states of the group; alternatives of plain letters count as one in total."""
        return self.before + self.last + self.choice


def pattern_complexity(pattern: str) -> int:
    """Return an estimate of the RE2 states that a text can keep active at once.

    Each character class and each repeated atom is a state, multiplied by the count of its repetition. Plain letters
    are none.
    """
    groups, position = [_Group()], 0
    while position < len(pattern):
        token = _TOKEN.match(pattern, position)
        if token is None:
            groups[-1].add_atom(0)
        else:
            _read_token(groups, token)
        position = token.end() if token else position + 1
    return sum(group.complexity for group in groups)


def _read_token(groups: list[_Group], token: re.Match[str]) -> None:
    group = groups[-1]
    match token.lastgroup or "":
        case "flags":
            return
        case "open":
            group.add_atom(0)
            groups.append(_Group())
        case "close" if len(groups) > 1:
            groups.pop()
            groups[-1].last = group.complexity
        case "bar":
            group.add_atom(0)
            group.choice = True
        case "counted":  # without an upper end, one more than the lower end
            most = int(token["most"] or token["least"]) + (token["most"] == "")
            group.last = max(group.last, 1) * most
        case "repeat":
            group.last = max(group.last, 1)
        case kind:
            group.add_atom(int(kind in _SINGLE_STATE))


MAX_PATTERN_MEMORY = 2 << 20
"""Bytes that RE2 may use for one compiled pattern."""
MAX_COMPLEXITY = 600
"""Maximum of states of a pattern: with 600, a million hostile characters take two seconds, with thousands minutes."""


class InvalidPattern(ValueError):
    """Error for a pattern that RE2 refuses or that is too complex; it does not quote the secret pattern."""


class Pattern(Protocol):
    """Compiled pattern."""

    def search(self, text: str) -> Any:
        """Return a match anywhere in the text, or None."""
        ...


def check_pattern(pattern: str) -> None:
    """Raise `InvalidPattern` for a pattern that does not compile or that is too complex."""
    compile_pattern(pattern)
    found = pattern_complexity(pattern)
    if found > MAX_COMPLEXITY:
        raise InvalidPattern(
            f"Classes and repetitions, multiplied by their counts, make {found} states; the maximum is "
            f"{MAX_COMPLEXITY}. Lower the counts ({{0,200}}), or write + or * instead"
        )


def compile_pattern(pattern: str) -> Pattern:
    """Compile a pattern with RE2, whatever its complexity. Raises `InvalidPattern` if RE2 refuses it."""
    import re2  # noqa: PLC0415 needed only by works with a pattern

    options = re2.Options()
    options.log_errors = False  # RE2 would write the pattern to stderr
    options.max_mem = MAX_PATTERN_MEMORY
    try:
        compiled: Pattern = re2.compile(pattern, options)
    except (re2.error, UnicodeEncodeError) as error:
        text = error.args[0] if error.args else b""  # the kind of error, then after a colon the pattern
        kind = text.split(b":")[0].decode(errors="replace") if isinstance(text, bytes) else ""
        reason = f" ({kind})" if kind else ""
        raise InvalidPattern(f"Not an RE2 pattern{reason}; RE2 has no lookaround and no back-references") from None
    return compiled

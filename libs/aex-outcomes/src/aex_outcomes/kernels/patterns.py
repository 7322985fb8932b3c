"""Patterns on RE2, in time linear in the text, with a bound on their complexity.

RE2's time is linear in the text, times the states alive at a character: a million characters take about a second
for 200 states. A counted repetition of a few characters makes thousands of states.
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
    """States of the atoms between two brackets: those before the last atom, and those of the last atom."""

    before: int = 0
    last: int = 0
    choice: bool = False

    def add_atom(self, states: int) -> None:
        self.before, self.last = self.before + self.last, states

    @property
    def complexity(self) -> int:
        """Return the states of the group; branches of plain letters count one in total, since few stay alive."""
        return self.before + self.last + self.choice


def pattern_complexity(pattern: str) -> int:
    """Return the number of RE2 states: classes and repeated atoms, multiplied by their counts.

    Plain letters count 0: few of them are alive at once.
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
"""States of a pattern: with 600 a million hostile characters take some two seconds, with thousands minutes."""


class InvalidPattern(ValueError):
    """A pattern that RE2 refuses or that takes too long; the message does not quote it: it is secret."""


class Pattern(Protocol):
    """A compiled pattern."""

    def search(self, text: str) -> Any: ...


def check_pattern(pattern: str) -> None:
    """Raise `InvalidPattern` for a pattern that does not compile or repeats too much."""
    compile_pattern(pattern)
    found = pattern_complexity(pattern)
    if found > MAX_COMPLEXITY:
        raise InvalidPattern(
            f"Classes and repetitions, multiplied by their counts, make {found} states; the maximum is "
            f"{MAX_COMPLEXITY}. Lower the counts ({{0,200}}), or write + or * instead"
        )


def compile_pattern(pattern: str) -> Pattern:
    """Compile a pattern for `search`. Raises `InvalidPattern`."""
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

"""How many places of a pattern a search may have to follow at once: what its time grows with, beside the text.

RE2 is linear in the text, times the places that are alive at a character: a million characters take about a second
for 200 of them. Counted repetitions are written in a few characters and make places by the thousand.
"""

import re
from dataclasses import dataclass

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
_ONE = frozenset({"kind", "class", "dot"})


@dataclass(slots=True)
class _Group:
    """What lies between two brackets: the places before the last atom, and those of the last atom."""

    before: int = 0
    last: int = 0
    choice: bool = False

    def add(self, places: int) -> None:
        """One more atom."""
        self.before, self.last = self.before + self.last, places

    @property
    def places(self) -> int:
        """Of all of it; branches of letters alone are one, however many: no two of them stay alive for long."""
        return self.before + self.last + self.choice


def places(pattern: str) -> int:
    """The places of a pattern that RE2 takes: of classes and of whatever is repeated, counts multiplied out.

    Plain letters are none: few of them are ever alive at once.
    """
    groups, at = [_Group()], 0
    while at < len(pattern):
        token = _TOKEN.match(pattern, at)
        if token is None:
            groups[-1].add(0)
            at += 1
            continue
        at = token.end()
        _take(groups, token)
    return sum(group.places for group in groups)


def _take(groups: list[_Group], token: re.Match[str]) -> None:
    here = groups[-1]
    match token.lastgroup or "":
        case "flags":
            return
        case "open":
            here.add(0)
            groups.append(_Group())
        case "close" if len(groups) > 1:
            groups.pop()
            groups[-1].last = here.places
        case "bar":
            here.add(0)
            here.choice = True
        case "counted":
            here.last = max(here.last, 1) * _most(token)
        case "repeat":
            here.last = max(here.last, 1)
        case kind:
            here.add(int(kind in _ONE))


def _most(token: re.Match[str]) -> int:
    """How often a counted repetition lays its atom down; without an upper end, once more for what follows."""
    most = token["most"]
    if most is None:
        return int(token["least"])
    return int(most) if most else int(token["least"]) + 1

"""Which range a metric has, by its name or by a pattern."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_WORD = re.compile(r"[a-z0-9]+")
_LONGEST_NAME = 200
"""Characters; what is longer is no name that a pattern was meant for."""

Bounds = Sequence[float | None]


class MetricBounds:
    """Ranges `[least, most]` by name, `*` in a name standing for any characters but a dot.

    Words that make something else of a name keep patterns without them from it: those of `either_sign` any pattern,
    those of `other_scale` the patterns that bound it above.
    """

    def __init__(self, bounds: Mapping[str, Bounds], either_sign: Iterable[str], other_scale: Iterable[str]) -> None:
        self._bounds = bounds
        self._either_sign = frozenset(each.casefold() for each in either_sign)
        self._other_scale = frozenset(each.casefold() for each in other_scale)
        patterns = sorted((name for name in bounds if "*" in name), key=lambda name: (-_plain_characters(name), name))
        self._patterns = [
            (name, re.compile(r"[^.]*".join(map(re.escape, re.split(r"\*+", name.casefold()))))) for name in patterns
        ]

    def violated(self, name: str, value: float, tolerance: float) -> dict[str, Any] | None:
        """The bounds that the value violates, and the pattern that they come from; None where it violates none.

        A weighted average of ones can be a hair above 1: rejecting is final, and the hair is not held against it.
        """
        entry = self._entry_of(name)
        if entry is None:
            return None
        least, most = self._bounds[entry]
        if (least is None or value >= least - tolerance) and (most is None or value <= most + tolerance):
            return None
        return {"least": least, "most": most} | ({} if entry == name else {"bounds_of": entry})

    def _entry_of(self, name: str) -> str | None:
        if name in self._bounds:
            return name
        plain = name.casefold()
        if len(plain) > _LONGEST_NAME:
            return None
        if plain in self._bounds:
            return plain
        words = frozenset(_WORD.findall(plain))
        for entry, pattern in self._patterns:
            if pattern.fullmatch(plain) and not self._is_something_else(words, entry):
                return entry
        return None

    def _is_something_else(self, words: frozenset[str], entry: str) -> bool:
        further = words.difference(_WORD.findall(entry.casefold()))
        is_bounded_above = self._bounds[entry][1] is not None
        return bool(further & self._either_sign or (is_bounded_above and further & self._other_scale))


def _plain_characters(pattern: str) -> int:
    return len(pattern) - pattern.count("*")

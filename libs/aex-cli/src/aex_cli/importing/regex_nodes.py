"""Nodes of a parsed JavaScript regular expression, and ranges of UTF-16 code units."""

from dataclasses import dataclass
from typing import TypeAlias

from aex_cli.importing.checks import NotTranslatable

MAX_UNIT = 0xFFFF
Ranges: TypeAlias = tuple[tuple[int, int], ...]
"""Sorted ranges of UTF-16 code units, without overlap."""


@dataclass(frozen=True, slots=True)
class Repeat:
    """A number of occurrences of an atom; `most` is None without an upper limit."""

    least: int = 1
    most: int | None = 1


ONCE = Repeat()


@dataclass(frozen=True, slots=True)
class CodeUnit:
    """An atom that matches one UTF-16 code unit."""

    ranges: Ranges
    repeat: Repeat = ONCE


@dataclass(frozen=True, slots=True)
class AstralCharacter:
    """A literal character beyond U+FFFF, which is two code units."""

    character: str


@dataclass(frozen=True, slots=True)
class Anchor:
    """A position: `^`, `$`, `b` for a word boundary, `B` for none."""

    sign: str


@dataclass(frozen=True, slots=True)
class Alternatives:
    """A group of alternatives, each a sequence of nodes."""

    branches: "tuple[tuple[Node, ...], ...]"
    repeat: Repeat = ONCE


Node: TypeAlias = CodeUnit | AstralCharacter | Anchor | Alternatives


def invert_ranges(ranges: Ranges) -> Ranges:
    """Return the code units outside the ranges."""
    starts = [0, *(last + 1 for _, last in ranges)]
    ends = [*(first - 1 for first, _ in ranges), MAX_UNIT]
    return tuple((first, last) for first, last in zip(starts, ends, strict=True) if first <= last)


def merge_ranges(ranges: list[tuple[int, int]]) -> Ranges:
    """Return the ranges sorted, with overlapping and adjacent ones joined."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return tuple(merged)


def make_pattern_error(what: str) -> NotTranslatable:
    """Return the error for a part of a pattern that has no translation."""
    return NotTranslatable("regex", f"the regular expression has {what}")


def make_unit_range(unit: int) -> Ranges:
    """Return the range of one code unit."""
    return ((unit, unit),)

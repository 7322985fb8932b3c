"""Quantity of a claimed value: one that a domain has a range for, or a statistic of one.

A name is cut into words at `_`, `-`, `.` (not within a number) and where a capital follows a small letter. Case and
separators do not count: `pValue`, `p-value` and `P_VALUE` are one. Around the quantity only words of statistics may
stand, up to four on either side: `mean_fitness`, `fitness_mean`, `fitness_p95`, `quantile_0.9_fitness`,
`max_abs_log2_fold_change`. With any other word (`mean_fitness_treated`, `fitness_threshold`, `sum_fitness`) the name
denotes something else, without a range.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from unicodedata import normalize

from aex_models.domains import Domain, ValueRange

_CUTS = re.compile(r"[_\-\s]+|(?<!\d)\.|\.(?!\d)|(?<=[a-z0-9])(?=[A-Z])")
_LOCATION = frozenset({"mean", "average", "avg", "median", "min", "minimum", "max", "maximum", "mode"})
_DEVIATION = frozenset({"std", "sd", "stdev", "stddev", "sem"})
_VARIANCE = frozenset({"var", "variance"})
_EXTENT = frozenset({"iqr", "range", "mad"})
_COUNT = frozenset({"count", "num", "number", "unique"})
_ABSOLUTE = frozenset({"abs", "absolute"})
_QUANTILE = frozenset({"quantile", "percentile", "quartile", "decile"})
_ONE_QUANTILE = re.compile(r"(?:q|p|pct)\d+(?:\.\d+)?")
_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:st|nd|rd|th)?")
_FILLERS = frozenset({"of", "n"})
"""Words without a meaning of their own: `n_fitness` is ambiguous; `n_unique_fitness` is a count."""
_WORDS = _LOCATION | _DEVIATION | _VARIANCE | _EXTENT | _COUNT | _ABSOLUTE | _QUANTILE | _FILLERS
_MAX_AROUND = 4
_LONGEST_NAME = 300


class QuantityKind(StrEnum):
    """Relation of a claim to its quantity."""

    VALUE = "value"
    """A value, or a statistic within the values' range."""
    ABSOLUTE = "absolute value"
    DEVIATION = "standard deviation"
    VARIANCE = "variance"
    EXTENT = "extent"
    """Distance between values."""
    COUNT = "count"


@dataclass(frozen=True, slots=True)
class QuantityClaim:
    """Quantity of a claim, with its range and the kind of statistic."""

    quantity: str
    range: ValueRange
    kind: QuantityKind


def key_of(name: str) -> str:
    """Return the key that all spellings of a quantity's name share."""
    return "".join(_split_name(name))


def quantities(domain: Domain) -> dict[str, str]:
    """Return the quantity by the key of each of its names."""
    named = {key_of(alias): name for name, each in domain.value_ranges.items() for alias in each.aliases}
    return named | {key_of(name): name for name in domain.value_ranges}


def find_quantity(claim: str, domain: Domain, known: Mapping[str, str]) -> QuantityClaim | None:
    """Return the quantity of the claim; None without a range for it. `known`: the domain's `quantities`.

    The quantity with the longest name has precedence.
    """
    for name, around in possible_quantities(claim):
        quantity = known.get(name)
        kind = _kind(around) if quantity is not None else None
        if quantity is not None and kind is not None:
            return QuantityClaim(quantity, domain.value_ranges[quantity], kind)
    return None


def possible_quantities(claim: str) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the key of each possible quantity, the longest first, and the words of statistics around it."""
    words = _split_name(claim) if len(claim) <= _LONGEST_NAME else []
    first, last = _leading_statistics(words), _leading_statistics(words[::-1])
    cuts = [(front, back) for front in range(first + 1) for back in range(last + 1) if front + back < len(words)]
    for front, back in sorted(cuts, key=sum):
        end = len(words) - back
        yield "".join(words[front:end]), frozenset(words[:front] + words[end:])


def _split_name(name: str) -> list[str]:
    return [word.casefold() for word in _CUTS.split(normalize("NFKC", name)) if word]


def _leading_statistics(words: list[str]) -> int:
    """Return the number of words of statistics at the beginning."""
    for position, word in enumerate(words[:_MAX_AROUND]):
        if word not in _WORDS and not _ONE_QUANTILE.fullmatch(word) and not _NUMBER.fullmatch(word):
            return position
    return min(len(words), _MAX_AROUND)


def _kind(around: frozenset[str]) -> QuantityKind | None:
    """Return the kind that these words make of the quantity; None for no statistic."""
    if any(_NUMBER.fullmatch(word) for word in around) and not around & _QUANTILE:
        return None  # `fitness_2` may be anything
    if ("n" in around) != ("unique" in around):
        return None
    if around & _COUNT:
        return QuantityKind.COUNT if around <= _COUNT | _FILLERS else None  # the mean of counts is no count
    kinds = ((_VARIANCE, QuantityKind.VARIANCE), (_DEVIATION, QuantityKind.DEVIATION), (_EXTENT, QuantityKind.EXTENT))
    found = next((kind for words, kind in kinds if around & words), None)
    return found or (QuantityKind.ABSOLUTE if around & _ABSOLUTE else QuantityKind.VALUE)

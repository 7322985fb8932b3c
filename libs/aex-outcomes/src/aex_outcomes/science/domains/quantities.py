"""What a claimed value is of: a quantity that a domain has a range for, or a statistic of one.

A name is cut into words at `_`, `-`, `.` (not within a number) and where a capital follows a small letter. Case does
not count, and neither does what stands between the words of a quantity: `pValue`, `p-value` and `P_VALUE` are one.
Around the quantity only words of statistics may stand, up to four on either side: `mean_fitness`, `fitness_mean`,
`fitness_p95`, `quantile_0.9_fitness`, `max_abs_log2_fold_change`. With any other word (`mean_fitness_treated`,
`fitness_threshold`, `sum_fitness`) it is another thing, of which the range says nothing.
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
"""Say nothing by themselves: `n_fitness` may be a count or something normalised; `n_unique_fitness` is a count."""
_WORDS = _LOCATION | _DEVIATION | _VARIANCE | _EXTENT | _COUNT | _ABSOLUTE | _QUANTILE | _FILLERS
_MAX_AROUND = 4
_LONGEST_NAME = 300


class Kind(StrEnum):
    """What a claim says of its quantity."""

    VALUE = "value"
    """A value of it, or a statistic that lies where its values lie."""
    ABSOLUTE = "absolute value"
    DEVIATION = "standard deviation"
    VARIANCE = "variance"
    EXTENT = "extent"
    """How far values lie apart."""
    COUNT = "count"


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a claim is of."""

    quantity: str
    range: ValueRange
    kind: Kind


def key_of(name: str) -> str:
    """What two names of one quantity have in common."""
    return "".join(_cut(name))


def quantities(domain: Domain) -> dict[str, str]:
    """Key → quantity, for each of its names."""
    named = {key_of(alias): name for name, each in domain.value_ranges.items() for alias in each.aliases}
    return named | {key_of(name): name for name in domain.value_ranges}


def meaning_of(claim: str, domain: Domain, known: Mapping[str, str]) -> Meaning | None:
    """What the claim is of; None where no range is for it. `known`: the domain's `quantities`.

    Of several quantities the one with the longest name is meant.
    """
    for name, around in readings(claim):
        quantity = known.get(name)
        kind = _kind(around) if quantity is not None else None
        if quantity is not None and kind is not None:
            return Meaning(quantity, domain.value_ranges[quantity], kind)
    return None


def readings(claim: str) -> Iterator[tuple[str, frozenset[str]]]:
    """The key of each quantity that the claim may be of, the longest first, and the words of statistics around it."""
    return _readings(_cut(claim)) if len(claim) <= _LONGEST_NAME else iter(())


def _cut(name: str) -> list[str]:
    return [word.casefold() for word in _CUTS.split(normalize("NFKC", name)) if word]


def _readings(words: list[str]) -> Iterator[tuple[str, frozenset[str]]]:
    first = _length(words)
    last = _length(words[::-1])
    cuts = [(front, back) for front in range(first + 1) for back in range(last + 1) if front + back < len(words)]
    for front, back in sorted(cuts, key=sum):
        end = len(words) - back
        yield "".join(words[front:end]), frozenset(words[:front] + words[end:])


def _length(words: list[str]) -> int:
    """How many words of statistics the list begins with."""
    for place, word in enumerate(words[:_MAX_AROUND]):
        if word not in _WORDS and not _ONE_QUANTILE.fullmatch(word) and not _NUMBER.fullmatch(word):
            return place
    return min(len(words), _MAX_AROUND)


def _kind(around: frozenset[str]) -> Kind | None:
    """What these words make of the quantity; None where they make no statistic."""
    if any(_NUMBER.fullmatch(word) for word in around) and not around & _QUANTILE:
        return None  # `fitness_2` may be anything
    if ("n" in around) != ("unique" in around):
        return None
    if around & _COUNT:
        return Kind.COUNT if around <= _COUNT | _FILLERS else None  # the mean of counts is none
    kinds = ((_VARIANCE, Kind.VARIANCE), (_DEVIATION, Kind.DEVIATION), (_EXTENT, Kind.EXTENT))
    found = next((kind for words, kind in kinds if around & words), None)
    return found or (Kind.ABSOLUTE if around & _ABSOLUTE else Kind.VALUE)

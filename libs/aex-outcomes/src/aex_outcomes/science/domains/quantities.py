"""Parsing of a claim's name into a quantity of the domain and a statistic of it.

A quantity is a kind of value that the domain has a range for, such as `fitness`. A name is cut into words at `_`, `-`,
`.` (not within a number) and where a capital follows a small letter. Case and separators do not count: `pValue`,
`p-value` and `P_VALUE` are equal. Beside the quantity a name may have up to four words of statistics on either side:
`mean_fitness`, `fitness_p95`, `quantile_0.9_fitness`, `max_abs_log2_fold_change`. A name with any other word
(`mean_fitness_treated`, `fitness_threshold`, `sum_fitness`) names no quantity, and no range applies.
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
"""Words that name no statistic alone: `n_fitness` is ambiguous, whereas `n_unique_fitness` is a count."""
_WORDS = _LOCATION | _DEVIATION | _VARIANCE | _EXTENT | _COUNT | _ABSOLUTE | _QUANTILE | _FILLERS
_MAX_AROUND = 4
_LONGEST_NAME = 300


class QuantityKind(StrEnum):
    """Kind of number that a claim states about its quantity, which decides the bounds that apply."""

    VALUE = "value"
    """A value, or a statistic that lies in the range of the values, such as a mean or a quantile."""
    ABSOLUTE = "absolute value"
    DEVIATION = "standard deviation"
    VARIANCE = "variance"
    EXTENT = "extent"
    """Distance between values, such as an interquartile range."""
    COUNT = "count"


@dataclass(frozen=True, slots=True)
class QuantityClaim:
    """Meaning of a claim's name: the quantity, the range of its values, and the kind of statistic."""

    quantity: str
    range: ValueRange
    kind: QuantityKind


def normalize_quantity_name(name: str) -> str:
    """Return the name in one spelling: words in lower case (NFKC), without separators."""
    return "".join(split_into_words(name))


def index_quantities_by_name(domain: Domain) -> dict[str, str]:
    """Return the quantity of each name and alias in the domain; keys are normalised names."""
    named = {
        normalize_quantity_name(alias): name for name, each in domain.value_ranges.items() for alias in each.aliases
    }
    return named | {normalize_quantity_name(name): name for name in domain.value_ranges}


def find_claimed_quantity(claim_name: str, domain: Domain, quantity_by_name: Mapping[str, str]) -> QuantityClaim | None:
    """Return the quantity and statistic that a claim's name denotes; None if it denotes none.

    `quantity_by_name`: result of `index_quantities_by_name`. Of several quantities the longest name wins.
    """
    for name, around in split_claim_name(claim_name):
        quantity = quantity_by_name.get(name)
        kind = _kind(around) if quantity is not None else None
        if quantity is not None and kind is not None:
            return QuantityClaim(quantity, domain.value_ranges[quantity], kind)
    return None


def split_claim_name(claim_name: str) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield each way to split a claim's name into a quantity's name and the words of statistics around it.

    `mean_fitness` gives `meanfitness` with no words, then `fitness` with `mean`. Quantities with more words come first.
    Their names are normalised as by `normalize_quantity_name`; none needs to exist. A name of more than 300 characters
    yields nothing.
    """
    words = split_into_words(claim_name) if len(claim_name) <= _LONGEST_NAME else []
    first, last = _leading_statistics(words), _leading_statistics(words[::-1])
    cuts = [(front, back) for front in range(first + 1) for back in range(last + 1) if front + back < len(words)]
    for front, back in sorted(cuts, key=sum):
        end = len(words) - back
        yield "".join(words[front:end]), frozenset(words[:front] + words[end:])


def split_into_words(name: str) -> list[str]:
    """Return the words of a name, in one spelling of case and letters."""
    return [word.casefold() for word in _CUTS.split(normalize("NFKC", name)) if word]


def _leading_statistics(words: list[str]) -> int:
    """Return how many of the first words name a statistic or a number, at most four."""
    for position, word in enumerate(words[:_MAX_AROUND]):
        if word not in _WORDS and not _ONE_QUANTILE.fullmatch(word) and not _NUMBER.fullmatch(word):
            return position
    return min(len(words), _MAX_AROUND)


def _kind(around: frozenset[str]) -> QuantityKind | None:
    """Return the kind of statistic that the words beside a quantity name; None if it is ambiguous.

    Without words it is a plain value.
    """
    if any(_NUMBER.fullmatch(word) for word in around) and not around & _QUANTILE:
        return None  # `fitness_2` may be anything
    if ("n" in around) != ("unique" in around):
        return None
    if around & _COUNT:
        return QuantityKind.COUNT if around <= _COUNT | _FILLERS else None  # the mean of counts is no count
    kinds = ((_VARIANCE, QuantityKind.VARIANCE), (_DEVIATION, QuantityKind.DEVIATION), (_EXTENT, QuantityKind.EXTENT))
    found = next((kind for words, kind in kinds if around & words), None)
    return found or (QuantityKind.ABSOLUTE if around & _ABSOLUTE else QuantityKind.VALUE)

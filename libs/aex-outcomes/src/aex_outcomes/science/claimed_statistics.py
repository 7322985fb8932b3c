"""Statistics of the score column that a claim names in words of its own: `fitness_mean`, `Mean_Fitness`, `sd_fitness`.

Where a work names no statistics, a claim would otherwise have to be called exactly as a recipe to be held against the
data, and whoever calls it something else would be believed.
"""

import re
from collections.abc import Iterable, Iterator, Mapping

from aex_models.domains import Domain
from aex_models.statistics import DerivedSpec, Statistic
from aex_outcomes.science.domains.quantities import key_of, quantities, readings

_WORDS: Mapping[str, Statistic] = {
    **dict.fromkeys(("mean", "average", "avg"), Statistic.MEAN),
    "median": Statistic.MEDIAN,
    **dict.fromkeys(("min", "minimum"), Statistic.MIN),
    **dict.fromkeys(("max", "maximum"), Statistic.MAX),
    **dict.fromkeys(("std", "sd", "stdev", "stddev"), Statistic.STD),
    **dict.fromkeys(("var", "variance"), Statistic.VAR),
}
_FILLER = "of"
_PARTS: Mapping[str, int] = {"quantile": 1, "quartile": 4, "decile": 10, "percentile": 100}
"""What a number beside the word is divided by."""
_JOINED = re.compile(r"(?:(?:p|pct)|(q))(\d+(?:\.\d+)?)")
_LEAST_PERCENT = 5
"""q1 to q4 may be quartiles or percentiles: they name nothing. q0.9 and q90 are one."""
_NUMBER = re.compile(r"(\d+(?:\.\d+)?)(?:st|nd|rd|th)?")
_MOST_QUANTILES = 20
"""That are computed for claims. Each sorts all values, and a hundred would use up the time that there is."""


def claimed_specs(
    claims: Iterable[str], domain: Domain | None, score: str, columns: Iterable[str]
) -> Iterator[DerivedSpec]:
    """A specification under the claim's own name for each that is a statistic of the score column's quantity.

    `columns`: of the file. A claim that names another one of them exactly (`median_fitness` beside a column `fitness`)
    is of that. Case, form and width of letters do not count.
    """
    known = _names(domain, score, columns)
    quantiles: set[float] = set()
    for claim in claims:
        found = _read(claim, known)
        if found is None:
            continue
        column, stat, q = found
        if q is not None:
            quantiles.add(q)
            if len(quantiles) > _MOST_QUANTILES:
                continue
        yield DerivedSpec(name=claim, stat=stat, column=column, q=q)


def _names(domain: Domain | None, score: str, columns: Iterable[str]) -> dict[str, str]:
    """Key of each name that the quantity of the score column has → the column."""
    every = quantities(domain) if domain is not None else {}
    quantity = every.get(key_of(score))
    names = {key for key, each in every.items() if each == quantity} if quantity is not None else set()
    own = {key: column for column in columns if (key := key_of(column)) in names}
    return dict.fromkeys(names, score) | own | {key_of(score): score}


def _read(claim: str, known: Mapping[str, str]) -> tuple[str, Statistic, float | None] | None:
    if not claim.isprintable():
        return None
    for key, around in readings(claim):
        asked = _statistic(around - {_FILLER}) if key in known else None
        if asked is not None:
            return known[key], *asked
    return None


def _statistic(words: frozenset[str]) -> tuple[Statistic, float | None] | None:
    """The one that these words name; None where they name none, or more than one."""
    if len(words) == 1:
        (word,) = words
        stat = _WORDS.get(word)
        joined = _JOINED.fullmatch(word)
        if stat is not None:
            return stat, None
        return _of_share(_share(joined[1] is not None, float(joined[2]))) if joined else None
    kinds, numbers = words & _PARTS.keys(), [found[1] for word in words if (found := _NUMBER.fullmatch(word))]
    if len(words) == 2 and len(kinds) == len(numbers) == 1:
        return _of_share(float(numbers[0]) / _PARTS[next(iter(kinds))])
    return None


def _share(is_q: bool, number: float) -> float | None:
    if not is_q or number >= _LEAST_PERCENT:
        return number / 100
    return number if number < 1 else None


def _of_share(q: float | None) -> tuple[Statistic, float | None] | None:
    return (Statistic.QUANTILE, q) if q is not None and q <= 1 else None

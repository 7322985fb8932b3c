"""Default statistics for a work that specifies none: of the score column, and means of other columns.

The score column is the first of the domain's `common_columns` that a file has. Claims may name its statistics in their
own words: `fitness_mean`, `Mean_Fitness` and `sd_fitness` are recognised, and compared with the data.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice

from aex_models.domains import Domain
from aex_models.examination import DataOwner
from aex_models.statistics import DerivedSpec, Statistic, StatisticSpec
from aex_outcomes.science.domains.quantities import index_quantities_by_name, normalize_quantity_name, split_claim_name
from aex_outcomes.science.statistics.column_values import count_cells_by_kind
from aex_outcomes.science.statistics.conditions import EVERY_ROW
from aex_outcomes.science.tables.cells import MISSING, TEXT, UNREADABLE
from aex_outcomes.science.tables.file_checks import DataError, out_of_memory_error, quote_names_for_message
from aex_outcomes.science.tables.source_table import OpenedFile

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
"""Divisor of the number beside each word: `percentile 95` is 95/100."""
_JOINED = re.compile(r"(?:(?:p|pct)|(q))(\d+(?:\.\d+)?)")
_LEAST_PERCENT = 5
"""Smallest number after `q` that is a percentile. q1 to q4 are ambiguous and name nothing; q0.9 and q90 are equal."""
_NUMBER = re.compile(r"(\d+(?:\.\d+)?)(?:st|nd|rd|th)?")
_MAX_QUANTILES = 20
"""Maximum of quantiles computed for claims: each sorts all values, and a hundred would exceed the time limit."""


def derive_specs_from_claims(
    claim_names: Iterable[str], domain: Domain | None, score_column: str, columns: Iterable[str]
) -> Iterator[DerivedSpec]:
    """Yield a specification for each claim whose name denotes a statistic of the score column.

    It has the claim's name. The claim may use any of the domain's names for the column's quantity. `columns`: all
    columns of the file. If one of them has the name in the claim, the statistic is of that column instead:
    `median_fitness` of a column `fitness`. Case, form and width of letters do not count. At most 20 different quantiles
    are derived.
    """
    every = index_quantities_by_name(domain) if domain is not None else {}
    score_key = normalize_quantity_name(score_column)
    quantity = every.get(score_key)
    names = {key for key, each in every.items() if each == quantity} if quantity is not None else set()
    own = {key: column for column in columns if (key := normalize_quantity_name(column)) in names}
    known = dict.fromkeys(names, score_column) | own | {score_key: score_column}
    quantiles: set[float | None] = {None}
    for claim in claim_names:
        if (found := _parse_claim(claim, known)) is not None:
            column, stat, q = found
            quantiles.add(q)
            if q is None or len(quantiles) <= _MAX_QUANTILES + 1:
                yield DerivedSpec(name=claim, stat=stat, column=column, q=q)


def _parse_claim(claim: str, known: Mapping[str, str]) -> tuple[str, Statistic, float | None] | None:
    if not claim.isprintable():
        return None
    for key, around in split_claim_name(claim):
        statistic = _statistic(around - {_FILLER}) if key in known else None
        if statistic is not None:
            return known[key], *statistic
    return None


def _statistic(words: frozenset[str]) -> tuple[Statistic, float | None] | None:
    """Return the statistic that these words name, and q of a quantile; None if they name none or several."""
    q = None
    if len(words) == 1:
        (word,) = words
        joined = _JOINED.fullmatch(word)
        if word in _WORDS:
            return _WORDS[word], None
        if joined:
            number, is_fraction = float(joined[2]), joined[1] is not None and float(joined[2]) < _LEAST_PERCENT
            q = number / 100 if not is_fraction else number if number < 1 else None
    kinds, numbers = words & _PARTS.keys(), [found[1] for word in words if (found := _NUMBER.fullmatch(word))]
    if len(words) == 2 and len(kinds) == len(numbers) == 1:
        q = float(numbers[0]) / _PARTS[next(iter(kinds))]
    return (Statistic.QUANTILE, q) if q is not None and q <= 1 else None


_OTHERS = 5
_MAX_READ = 40
"""Maximum of columns that are read to find five columns of numbers."""
_OF_SCORE = (Statistic.MEAN, Statistic.STD, Statistic.MIN, Statistic.MAX)
_LONGEST_NAME, _LONGEST_FILE = 300, 200


def find_score_column(domain: Domain | None, files: Sequence[OpenedFile]) -> tuple[OpenedFile, str] | None:
    """Return the first readable file with a common column of the domain, and the column; else None."""
    for file in files:
        has = _columns(file)
        found = next((name for name in (domain.common_columns if domain else ()) if name in has), None)
        if found is not None:
            return file, found
    return None


def derive_default_specs(
    domain: Domain | None, files: Sequence[OpenedFile], claim_names: Collection[str] = ()
) -> tuple[StatisticSpec, ...]:
    """Return the default statistics of the file with the score column, else of the first with numbers.

    They are the statistics that the domain lists, and `{column}_mean` of the first five other columns of numbers.
    Statistics of the score column that `claim_names` denote are added. The result is empty if no file serves: then each
    of the agent's files gets an error that says so. An unreadable file also keeps its error.
    """
    score = find_score_column(domain, files)
    if score is not None:
        file, column = score
        specs = [*_score_specs(domain, column, file), *_mean_specs(file, column)]
        return _unique_specs(file, specs, domain, column, claim_names)
    for file in files:
        found = _mean_specs(file, None)
        if found:
            return _unique_specs(file, [*_score_specs(domain, None, file), *found])
    for file in files:
        _record_missing_columns(file, domain)
    return ()


def _columns(file: OpenedFile) -> tuple[str, ...]:
    try:
        return file.columns
    except DataError:
        return ()


def _unique_specs(
    file: OpenedFile,
    specs: Sequence[StatisticSpec],
    domain: Domain | None = None,
    score: str | None = None,
    claims: Collection[str] = (),
) -> tuple[StatisticSpec, ...]:
    """Return the first specification of each name and those derived from claims, all bound to this file."""
    found: dict[str, StatisticSpec] = {}
    for each in specs:
        found.setdefault(each.name, each)
    if score is not None:
        others = (name for name in claims if name not in found)
        found |= {each.name: each for each in derive_specs_from_claims(others, domain, score, file.columns)}
    name = file.file.name
    of_file = {"artifact": name} if 0 < len(name) <= _LONGEST_FILE else {}
    return tuple(each.model_copy(update=of_file) for each in found.values())


def _score_specs(domain: Domain | None, score: str | None, file: OpenedFile) -> Iterator[StatisticSpec]:
    if domain is not None and domain.statistics:
        for recipe in domain.statistics:
            column = recipe.column or score
            if column is not None and column in file.columns:
                yield StatisticSpec(name=recipe.name, stat=recipe.stat, q=recipe.q, column=column)
    elif score is not None:
        names = ((f"{stat.value}_{score}", stat) for stat in _OF_SCORE)
        yield from (DerivedSpec(name=name, stat=stat, column=score) for name, stat in names if _is_claimable(name))


def _mean_specs(file: OpenedFile, score: str | None) -> list[StatisticSpec]:
    """Return the means of the first five columns, other than the score column, that hold only numbers.

    Without a score column an unreadable file keeps its error.
    """
    others = [name for name in _columns(file) if name != score and _is_claimable(f"{name}_mean")][:_MAX_READ]
    if not others:
        return []
    try:
        # Kept for the statistics: a second pass over millions of rows would exceed the time limit.
        table = file.load_and_keep_table(others if score is None else [score, *others])
        kinds = ((name, count_cells_by_kind(table, name, EVERY_ROW).keys()) for name in others)
        numeric = (name for name, found in kinds if not found & {TEXT, UNREADABLE} and found - {MISSING})
        means = (DerivedSpec(name=f"{name}_mean", stat=Statistic.MEAN, column=name) for name in numeric)
        return list(islice(means, _OTHERS))
    except (DataError, MemoryError) as error:
        if score is None:  # else computing the score column's statistics reports it, or it is irrelevant
            file.error = error if isinstance(error, DataError) else out_of_memory_error()
        return []


def _is_claimable(name: str) -> bool:
    return len(name) <= _LONGEST_NAME and name.isprintable()


def _record_missing_columns(file: OpenedFile, domain: Domain | None) -> None:
    """Set an error on an agent's file without usable columns; a consumer's file gets none."""
    if file.error is None and file.file.owner is not DataOwner.CONSUMER:
        scores = domain.common_columns if domain else ()
        expected = f"none of the score columns {quote_names_for_message(scores)} and " if scores else ""
        message = f"{expected}no column of numbers; there are {quote_names_for_message(_columns(file))}"
        file.error = DataError("column_missing", f"{message}: give one")

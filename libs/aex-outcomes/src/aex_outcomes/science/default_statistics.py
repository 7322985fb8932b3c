"""What is computed where a work names no statistics: of the domain's score column, and means of other columns."""

from collections.abc import Collection, Iterator, Sequence
from itertools import islice

from aex_models.domains import Domain
from aex_models.examination import DataOwner
from aex_models.statistics import DerivedSpec, Statistic, StatisticSpec
from aex_outcomes.science.claimed_statistics import claimed_specs
from aex_outcomes.science.statistics.conditions import EVERY_ROW
from aex_outcomes.science.statistics.picked import count_by_kind
from aex_outcomes.science.tables.cells import MISSING, TEXT, UNREADABLE
from aex_outcomes.science.tables.errors import DataError, listed, out_of_memory
from aex_outcomes.science.tables.opened import OpenedFile

_OTHERS = 5
_LOOKED_AT = 40
"""Columns that are read to find five of numbers."""
_OF_SCORE = (Statistic.MEAN, Statistic.STD, Statistic.MIN, Statistic.MAX)
_LONGEST_NAME, _LONGEST_FILE = 300, 200


def score_of(domain: Domain | None, files: Sequence[OpenedFile]) -> tuple[OpenedFile, str] | None:
    """The first file that has one of the domain's common columns, and which; files that cannot be read are left out."""
    for file in files:
        has = _columns(file)
        found = next((name for name in (domain.common_columns if domain else ()) if name in has), None)
        if found is not None:
            return file, found
    return None


def default_specs(
    domain: Domain | None, files: Sequence[OpenedFile], claims: Collection[str] = ()
) -> tuple[StatisticSpec, ...]:
    """The recipes of the domain, `{column}_mean` of the first five other columns of numbers in the same file, and what
    `claims` name of the score column in words of their own.

    Without a score column: of the first file with columns of numbers. A file that cannot be read says so in `failed`,
    and so does each of the agent's where none serves.
    """
    score = score_of(domain, files)
    if score is not None:
        file, column = score
        others = _means(_of_numbers(file, column))
        return _each_once(file, [*_of_score(domain, column, file), *others], domain, column, claims)
    for file in files:
        found = _of_numbers(file, None)
        if found:
            return _each_once(file, [*_of_score(domain, None, file), *_means(found)])
    for file in files:
        _tell_what_is_missing(file, domain)
    return ()


def _columns(file: OpenedFile) -> tuple[str, ...]:
    try:
        return file.columns
    except DataError:
        return ()


def _each_once(
    file: OpenedFile,
    specs: Sequence[StatisticSpec],
    domain: Domain | None = None,
    score: str | None = None,
    claims: Collection[str] = (),
) -> tuple[StatisticSpec, ...]:
    """By their names, the first of a name; all of this very file."""
    found: dict[str, StatisticSpec] = {}
    for each in specs:
        found.setdefault(each.name, each)
    if score is not None:
        others = (name for name in claims if name not in found)
        found |= {each.name: each for each in claimed_specs(others, domain, score, file.columns)}
    name = file.file.name
    of_file = {"artifact": name} if 0 < len(name) <= _LONGEST_FILE else {}
    return tuple(each.model_copy(update=of_file) for each in found.values())


def _of_score(domain: Domain | None, score: str | None, file: OpenedFile) -> Iterator[StatisticSpec]:
    if domain is not None and domain.statistics:
        for recipe in domain.statistics:
            column = recipe.column or score
            if column is not None and column in file.columns:
                yield StatisticSpec(name=recipe.name, stat=recipe.stat, q=recipe.q, column=column)
    elif score is not None:
        names = ((f"{stat.value}_{score}", stat) for stat in _OF_SCORE)
        yield from (DerivedSpec(name=name, stat=stat, column=score) for name, stat in names if _may_be_claimed(name))


def _means(columns: Sequence[str]) -> list[StatisticSpec]:
    return [DerivedSpec(name=f"{name}_mean", stat=Statistic.MEAN, column=name) for name in columns]


def _of_numbers(file: OpenedFile, score: str | None) -> list[str]:
    """The first five other columns that hold numbers and nothing else."""
    others = [name for name in _columns(file) if name != score and _may_be_claimed(f"{name}_mean")][:_LOOKED_AT]
    if not others:
        return []
    try:
        with file.table(others, ()) as table:
            found = (name for name in others if _is_numeric(count_by_kind(table, name, EVERY_ROW)))
            return list(islice(found, _OTHERS))
    except (DataError, MemoryError) as error:
        if score is None:  # else it is told where the statistics of the score column are computed, or does not matter
            file.failed = error if isinstance(error, DataError) else out_of_memory()
        return []


def _may_be_claimed(name: str) -> bool:
    return len(name) <= _LONGEST_NAME and name.isprintable()


def _is_numeric(kinds: dict[int, int]) -> bool:
    return not kinds.keys() & {TEXT, UNREADABLE} and bool(kinds.keys() - {MISSING})


def _tell_what_is_missing(file: OpenedFile, domain: Domain | None) -> None:
    """The consumer's own columns are nobody's to know, and nobody's to mend."""
    if file.failed is not None or file.file.owner is DataOwner.CONSUMER:
        return
    wanted = (
        f"none of the score columns {listed(domain.common_columns)} and " if domain and domain.common_columns else ""
    )
    message = f"{wanted}no column of numbers; there are {listed(_columns(file))}"
    file.failed = DataError("column_missing", f"{message}: give one")

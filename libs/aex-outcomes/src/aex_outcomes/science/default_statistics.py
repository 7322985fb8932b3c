"""What is computed where a work names no statistics: of the domain's score column, and means of other columns."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from aex_models.domains import Domain
from aex_models.statistics import Statistic, StatisticSpec
from aex_outcomes.science.statistics.conditions import EVERY_ROW
from aex_outcomes.science.statistics.picked import count_by_kind
from aex_outcomes.science.tables.cells import MISSING, TEXT
from aex_outcomes.science.tables.errors import DataError
from aex_outcomes.science.tables.opened import OpenedFile

_OTHERS = 5
_LOOKED_AT = 40
"""Columns that are read to find five of numbers."""
_OF_SCORE = (Statistic.MEAN, Statistic.STD, Statistic.MIN, Statistic.MAX)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,99}")


def score_of(domain: Domain | None, files: Sequence[OpenedFile]) -> tuple[OpenedFile, str] | None:
    """The first file that has one of the domain's common columns, and which; files that cannot be read are left out."""
    for file in files:
        has = _columns(file)
        found = next((name for name in (domain.common_columns if domain else ()) if name in has), None)
        if found is not None:
            return file, found
    return None


def default_specs(domain: Domain | None, files: Sequence[OpenedFile]) -> tuple[StatisticSpec, ...]:
    """The recipes of the domain, and `{column}_mean` of the first five other columns of numbers in the same file."""
    score = score_of(domain, files)
    file = score[0] if score else next((each for each in files if _columns(each)), None)
    if file is None:
        return ()
    column = score[1] if score else None
    specs = [*_of_score(domain, column, file), *_of_others(file, column)]
    return tuple({each.name: each for each in reversed(specs)}.values())[::-1]


def _columns(file: OpenedFile) -> tuple[str, ...]:
    try:
        return file.columns
    except DataError:
        return ()


def _of_score(domain: Domain | None, score: str | None, file: OpenedFile) -> Iterator[StatisticSpec]:
    if domain is not None and domain.statistics:
        for recipe in domain.statistics:
            column = recipe.column or score
            if column is not None and column in file.columns:
                yield StatisticSpec(name=recipe.name, stat=recipe.stat, q=recipe.q, column=column)
    elif score is not None:
        names = ((f"{stat.value}_{score}", stat) for stat in _OF_SCORE)
        yield from (StatisticSpec(name=name, stat=stat, column=score) for name, stat in names if _NAME.fullmatch(name))


def _of_others(file: OpenedFile, score: str | None) -> list[StatisticSpec]:
    others = [name for name in file.columns if name != score and _NAME.fullmatch(f"{name}_mean")][:_LOOKED_AT]
    if not others:
        return []
    try:
        with file.table(others, ()) as table:
            found = (name for name in others if _is_numeric(count_by_kind(table, name, EVERY_ROW)))
            first = list(islice(found, _OTHERS))
    except DataError:  # told where the statistics themselves are computed
        return []
    return [StatisticSpec(name=f"{name}_mean", stat=Statistic.MEAN, column=name) for name in first]


def _is_numeric(kinds: dict[int, int]) -> bool:
    return TEXT not in kinds and bool(kinds.keys() - {MISSING})

"""What is wrong in one domain beyond its shape: names that collide, checks that could not be computed or not fail."""

from collections.abc import Iterator

from aex_models.domains import Domain, Recipe, SanityCheck
from aex_models.science_checks import CHECKS
from aex_models.statistics import OF_TWO_COLUMNS, Statistic
from aex_outcomes.science.domains.quantities import key_of

SCORE_COLUMN = "@score"
"""Stands for the score column in a sanity check's filters."""
SANITY_PREFIX = "sanity."
"""Before a sanity check's name, where it names a statistic."""
_LONGEST_CHECK = 100 - len(SANITY_PREFIX)

Problems = Iterator[tuple[str, str]]


def problems_of(domain: Domain) -> Problems:
    """Pairs of a dotted path and what is wrong there."""
    yield from _colliding_ranges(domain)
    yield from _repeated([each.name for each in domain.sanity_checks], "sanity_checks")
    yield from _repeated([each.name for each in domain.statistics], "statistics")
    for place, check in enumerate(domain.sanity_checks):
        yield from _of_check(check, domain, f"sanity_checks.{place}")
    for place, recipe in enumerate(domain.statistics):
        yield from _of_recipe(recipe, domain, f"statistics.{place}")


def _colliding_ranges(domain: Domain) -> Problems:
    owners: dict[str, str] = {}
    for quantity, each in domain.value_ranges.items():
        places = [(quantity, f"value_ranges.{quantity}")]
        places += [(alias, f"value_ranges.{quantity}.aliases.{place}") for place, alias in enumerate(each.aliases)]
        for name, path in places:
            owner = owners.setdefault(key_of(name), quantity)
            if owner != quantity:
                yield path, f"{name} is a name of {owner} already; a claim could be held to one of them alone"


def _repeated(names: list[str], field: str) -> Problems:
    for place, name in enumerate(names):
        if name in names[:place]:
            yield f"{field}.{place}.name", f"{name} is there already"


def _of_check(check: SanityCheck, domain: Domain, path: str) -> Problems:
    if check.name in CHECKS:
        yield f"{path}.name", f"{check.name} is a check of the platform's; choose another name"
    if len(check.name) > _LONGEST_CHECK:
        yield f"{path}.name", f"longer than {_LONGEST_CHECK} characters"
    if check.min is None and check.max is None:
        yield path, "has neither min nor max, so that it could not fail"
    if check.min is not None and check.max is not None and check.min > check.max:
        yield path, "min is above max, so that it could not be met"
    if not domain.common_columns:
        yield path, "needs a score column: name some in common_columns"
    yield from _of_statistic(check.stat, check.q, path)


def _of_recipe(recipe: Recipe, domain: Domain, path: str) -> Problems:
    if recipe.column is None and not domain.common_columns:
        yield path, "needs a column, or a score column: name some in common_columns"
    yield from _of_statistic(recipe.stat, recipe.q, path)


def _of_statistic(stat: Statistic, q: float | None, path: str) -> Problems:
    if stat in OF_TWO_COLUMNS:
        yield f"{path}.stat", f"{stat.value} takes two columns; only statistics of one are possible here"
    if (q is not None) != (stat is Statistic.QUANTILE):
        yield f"{path}.q", "quantile, and it alone, takes q from 0 to 1"

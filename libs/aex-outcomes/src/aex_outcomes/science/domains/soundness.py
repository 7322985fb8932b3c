"""Validation of a domain beyond its schema: colliding names, checks that cannot work or cannot fail."""

from collections.abc import Iterator

from aex_models.domains import Domain, SanityCheck
from aex_models.examination import CHECKS
from aex_models.statistics import OF_SEVERAL_INPUTS, Statistic
from aex_outcomes.config import InvalidConfig
from aex_outcomes.science.domains.quantities import normalize_quantity_name

SCORE_COLUMN = "@score"
"""Placeholder for the score column in a sanity check's filters."""
SANITY_PREFIX = "sanity."
"""Prefix that makes the name of a sanity check the name of its statistic."""
_LONGEST_CHECK = 100 - len(SANITY_PREFIX)

Problems = Iterator[tuple[str, str]]


class InvalidDomain(InvalidConfig):
    """Error of an invalid domain or of conflicting domains; `problems` name file, key path and cause."""


def check_domain(domain: Domain, error_label: str) -> None:
    """Raise `InvalidDomain` if the domain has problems. `error_label` names its source in the messages."""
    problems = [(f"{error_label}: {path}", problem) for path, problem in _problems_of(domain)]
    if problems:
        raise InvalidDomain(problems)


def _problems_of(domain: Domain) -> Problems:
    """Yield pairs of a dotted key path and the problem of its value."""
    yield from _colliding_ranges(domain)
    yield from _repeated_names([each.name for each in domain.sanity_checks], "sanity_checks")
    yield from _repeated_names([each.name for each in domain.statistics], "statistics")
    for index, check in enumerate(domain.sanity_checks):
        yield from _check_problems(check, domain, f"sanity_checks.{index}")
    for index, recipe in enumerate(domain.statistics):
        path = f"statistics.{index}"
        if recipe.column is None and not domain.common_columns:
            yield path, "needs a column, or a score column: name some in common_columns"
        yield from _statistic_problems(recipe.stat, recipe.q, path)


def _colliding_ranges(domain: Domain) -> Problems:
    owners: dict[str, str] = {}
    for quantity, each in domain.value_ranges.items():
        path = f"value_ranges.{quantity}"
        aliases = ((alias, f"{path}.aliases.{index}") for index, alias in enumerate(each.aliases))
        for name, own_path in ((quantity, path), *aliases):
            owner = owners.setdefault(normalize_quantity_name(name), quantity)
            if owner != quantity:
                yield own_path, f"{name} is a name of {owner} already; a claim could be held to one of them alone"


def _repeated_names(names: list[str], field: str) -> Problems:
    for index, name in enumerate(names):
        if name in names[:index]:
            yield f"{field}.{index}.name", f"{name} is there already"


def _check_problems(check: SanityCheck, domain: Domain, path: str) -> Problems:
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
    yield from _statistic_problems(check.stat, check.q, path)


def _statistic_problems(stat: Statistic, q: float | None, path: str) -> Problems:
    if stat in OF_SEVERAL_INPUTS:
        yield f"{path}.stat", f"one column does not determine {stat.value}: choose a statistic of one column"
    if (q is not None) != (stat is Statistic.QUANTILE):
        yield f"{path}.q", "quantile, and it alone, takes q from 0 to 1"

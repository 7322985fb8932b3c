"""Sanity checks of a domain: statistics of the score column that lie within bounds in sound data (spec file 4)."""

import math
from collections.abc import Collection, Mapping, Sequence

from aex_models.domains import Domain, SanityCheck
from aex_models.examination import DataProblem, DomainViolation
from aex_models.faults import Fault
from aex_models.statistics import StatisticSpec
from aex_outcomes.science.domains.soundness import SANITY_PREFIX, SCORE_COLUMN

SOURCE = "sanity_check"


def sanity_specs(domain: Domain, score_column: str) -> tuple[StatisticSpec, ...]:
    """The statistic of each sanity check, of this score column. Names begin with `sanity.`: they are no claims."""
    return tuple(_spec(check, score_column) for check in domain.sanity_checks)


def sanity_findings(
    domain: Domain,
    values: Mapping[str, float],
    problems: Sequence[DataProblem] = (),
    *,
    demanded: Collection[str] = (),
    secret: bool = False,
) -> tuple[DomainViolation, ...]:
    """The checks that failed, in the domain's order; `values` by the names of `sanity_specs`.

    A check whose statistic is not there has not failed. Where the work demands it (`demanded`: the work's `checks`) it
    has not passed either, and is a violation without a value, unless one of the `problems` says that the platform is to
    blame for what is missing: that leaves no verdict, and is not the agent's. `secret`: the values come from the
    consumer's own data.
    """
    excused = {each.name for each in problems if each.fault is Fault.PLATFORM}
    found: list[DomainViolation] = []
    for check in domain.sanity_checks:
        name = SANITY_PREFIX + check.name
        value = values.get(name)
        if value is not None and not _holds(check, value):
            found.append(_violation(check, value, _bounds_in_words(check), secret))
        elif value is None and check.name in demanded and not excused & {name, None}:
            found.append(_violation(check, None, "it could not be computed from the data", secret))
    return tuple(found)


def _spec(check: SanityCheck, score_column: str) -> StatisticSpec:
    where = [
        each.model_copy(update={"column": score_column}) if each.column == SCORE_COLUMN else each
        for each in check.where
    ]
    return StatisticSpec(
        name=SANITY_PREFIX + check.name, stat=check.stat, column=score_column, q=check.q, where=tuple(where)
    )


def _holds(check: SanityCheck, value: float) -> bool:
    """NaN holds nothing."""
    held = abs(value) if check.abs else value
    return (
        not math.isnan(held) and (check.min is None or held >= check.min) and (check.max is None or held <= check.max)
    )


def _bounds_in_words(check: SanityCheck) -> str:
    what = f"the {'absolute ' if check.abs else ''}{check.stat.value} should be"
    bounds = [("at least", check.min), ("at most", check.max)]
    told = " and ".join(f"{word} {end:g}" for word, end in bounds if end is not None)
    return f"{what} {told}"


def _violation(check: SanityCheck, value: float | None, told: str, secret: bool) -> DomainViolation:
    finite = value if value is not None and math.isfinite(value) else None
    found = "" if value is None else f": it is {value!r}"
    return DomainViolation(
        name=check.name,
        message=f"{check.description.rstrip('.')}; {told}{found}",
        value=finite,
        min=check.min,
        max=check.max,
        source=SOURCE,
        secret=secret,
    )

"""Sanity checks of a domain: bounds on statistics of the score column in sound data (spec file 4)."""

import math
from collections.abc import Collection, Mapping, Sequence

from aex_models.domains import Domain, SanityCheck
from aex_models.examination import DataProblem, DomainViolation, Fault
from aex_models.statistics import StatisticSpec
from aex_outcomes.science.domains.soundness import SANITY_PREFIX, SCORE_COLUMN

SOURCE = "sanity_check"


def build_sanity_specs(domain: Domain, score_column: str) -> tuple[StatisticSpec, ...]:
    """Return the specification of each sanity check's statistic, applied to the score column.

    Their names are `sanity.` and the name of the check, so that they differ from the names of claims.
    """
    on_score = {"column": score_column}
    return tuple(
        StatisticSpec(
            name=SANITY_PREFIX + check.name,
            stat=check.stat,
            column=score_column,
            q=check.q,
            where=tuple(
                each.model_copy(update=on_score) if each.column == SCORE_COLUMN else each for each in check.where
            ),
        )
        for check in domain.sanity_checks
    )


def find_failed_sanity_checks(
    domain: Domain,
    values: Mapping[str, float],
    problems: Sequence[DataProblem] = (),
    *,
    demanded: Collection[str] = (),
    secret: bool = False,
) -> tuple[DomainViolation, ...]:
    """Return a violation for each sanity check of the domain that its statistic's value fails.

    `values`: by the names of `build_sanity_specs`. A check without a value fails only if the work demands it:
    `demanded` are the names in the work's `checks`. It does not fail if one of `problems` explains the missing value as
    the platform's fault. `secret`: mark the violations as computed from the consumer's own data.
    """
    excused = {each.name for each in problems if each.fault is Fault.PLATFORM}
    found: list[DomainViolation] = []
    for check in domain.sanity_checks:
        name = SANITY_PREFIX + check.name
        value = values.get(name)
        if value is not None and not _holds(check, value):
            bounds = [("at least", check.min), ("at most", check.max)]
            limits = " and ".join(f"{word} {end:g}" for word, end in bounds if end is not None)
            what = f"the {'absolute ' if check.abs else ''}{check.stat.value}"
            found.append(_violation(check, value, f"{what} should be {limits}", secret))
        elif value is None and check.name in demanded and not excused & {name, None}:
            found.append(_violation(check, None, "it could not be computed from the data", secret))
    return tuple(found)


def _holds(check: SanityCheck, value: float) -> bool:
    """Return True if the value, or its absolute value where the check says so, is within the bounds."""
    magnitude = abs(value) if check.abs else value
    return (
        not math.isnan(magnitude)
        and (check.min is None or magnitude >= check.min)
        and (check.max is None or magnitude <= check.max)
    )


def _violation(check: SanityCheck, value: float | None, expectation: str, secret: bool) -> DomainViolation:
    found = "" if value is None else f": it is {value!r}"
    return DomainViolation(
        name=check.name,
        message=f"{check.description.rstrip('.')}; {expectation}{found}",
        value=value if value is not None and math.isfinite(value) else None,
        min=check.min,
        max=check.max,
        source=SOURCE,
        secret=secret,
    )

"""Groups of rows that a statistic may not mix, decided from summaries of the groups (spec file 17)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aex_models.domains import Domain, ValueRange
from aex_models.examination import MIXED_GROUPS, GroupSummary, MixedGroups, MixingRule
from aex_models.statistics import Filter, FilterOp
from aex_outcomes.formatting import format_value, truncate
from aex_outcomes.science.domains.quantities import index_quantities_by_name, normalize_quantity_name

GroupValue = int | str
MIN_GROUPS, MAX_GROUPS, MIN_ROWS = 2, 12, 5
MIN_COVERAGE = 0.95
"""Share of the rows with a number that the groups of at least `MIN_ROWS` rows have."""


@dataclass(frozen=True, slots=True)
class Group:
    """The numbers of a column in the rows of one group; `sd` is that of a sample."""

    value: GroupValue
    n: int
    mean: float
    median: float
    sd: float


class GroupFilter(Filter):
    """A filter that keeps one group of a table's rows, by its code."""


def large_groups(sizes: Mapping[GroupValue, int], rows: int) -> tuple[GroupValue, ...]:
    """Return the groups of at least `MIN_ROWS` rows.

    There are none unless they are 2 to 12, and cover 95 % of `rows`.
    """
    large = tuple(value for value, size in sizes.items() if size >= MIN_ROWS)
    if not MIN_GROUPS <= len(large) <= MAX_GROUPS or sum(sizes[each] for each in large) < MIN_COVERAGE * rows:
        return ()
    return large


def mixing_rule(groups: Sequence[Group], bounds: ValueRange | None) -> MixingRule | None:
    """Return the rule that forbids to mix these groups, the range before the spread; None for neither.

    `bounds`: range of the quantity. The spread is √(Σ(nᵢ−1)sᵢ² / Σ(nᵢ−1)).
    """
    if len({is_within(each.median, bounds) for each in groups}) > 1:
        return MixingRule.RANGE
    medians = [each.median for each in groups]
    return MixingRule.SPREAD if max(medians) - min(medians) > pooled_deviation(groups) else None


def pooled_deviation(groups: Sequence[Group]) -> float:
    """Return the standard deviation within the groups."""
    largest = max(each.sd for each in groups)
    if largest == 0:
        return 0.0
    shares = ((each.n - 1) * (each.sd / largest) ** 2 for each in groups)  # no square overflows or vanishes
    return largest * math.sqrt(sum(shares) / sum(each.n - 1 for each in groups))


def is_within(value: float, bounds: ValueRange | None) -> bool:
    """Return True unless the value lies outside the range."""
    if bounds is None:
        return True
    return (bounds.min is None or value >= bounds.min) and (bounds.max is None or value <= bounds.max)


def range_of(column: str, domain: Domain | None) -> ValueRange | None:
    """Return the range of the quantity that the column is named after; None without one."""
    if domain is None:
        return None
    name = index_quantities_by_name(domain).get(normalize_quantity_name(column))
    return domain.value_ranges[name] if name is not None else None


def report_mixing(
    rule: MixingRule,
    groups: Sequence[Group],
    *,
    measured: str,
    column: str,
    artifact: str,
    secret: bool,
    bounds: ValueRange | None,
    statistics: Sequence[str],
) -> MixedGroups:
    """Return the finding, with the filter that keeps the largest group, by range the largest within it."""
    kept = max((each for each in groups if is_within(each.median, bounds)), key=lambda each: each.n, default=None)
    kept = kept or max(groups, key=lambda each: each.n)
    return MixedGroups(
        rule=rule,
        measured=measured,
        column=column,
        artifact=artifact,
        groups=tuple(GroupSummary(value=g.value, n=g.n, mean=g.mean, median=g.median) for g in groups),
        where=(Filter(column=column, op=FilterOp.EQ, value=kept.value),),
        statistics=tuple(statistics),
        secret=secret,
    )


def name_of_group(statistic: str, column: str, value: object) -> str:
    """Return the name by which a statistic of one group is claimed: `mean_fitness[condition=A]`."""
    return f"{statistic}[{column}={value}]"


def hide_group(name: str) -> str:
    """Return the name without the value of its group, which is a cell of the data."""
    start = name.find("[")
    end = name.find("=", start)
    return f"{name[: end + 1]}…]" if name.endswith("]") and 0 <= start < end else name


def format_mixing(mixed: MixedGroups, *, with_groups: bool) -> str:
    """Return one line with the columns, and with the groups and their figures.

    `with_groups`: true to include groups of the consumer's data; those of the agent's always appear.
    """
    columns = f"{truncate(mixed.artifact)}: {MIXED_GROUPS}: {truncate(mixed.measured)} by {truncate(mixed.column)}"
    if mixed.secret and not with_groups:
        return columns
    groups = (
        f"{truncate(str(each.value))} (n {each.n}, mean {format_value(each.mean)}, median {format_value(each.median)})"
        for each in mixed.groups
    )
    kept = "".join(f"; one group: {truncate(each.column)} = {truncate(str(each.value))}" for each in mixed.where)
    return f"{columns}: {', '.join(groups)}{kept}"

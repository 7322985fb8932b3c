"""Groups of rows that a statistic may not mix, decided from summaries of the groups (spec file 17)."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aex_models.domains import Domain, ValueRange
from aex_models.examination import MIXED_GROUPS, GroupSummary, MixedGroups, MixingRule
from aex_models.statistics import Filter, FilterOp
from aex_outcomes.engine.criteria import is_within
from aex_outcomes.formatting import format_value, truncate
from aex_outcomes.science.domains.quantities import index_quantities_by_name, normalize_quantity_name

GroupValue = int | str
MIN_GROUPS, MAX_GROUPS, MIN_ROWS = 2, 12, 5
MIN_COVERAGE = 0.95
"""Minimum share of the rows with a number that are in groups of at least `MIN_ROWS` rows."""


@dataclass(frozen=True, slots=True)
class Group:
    """Summary of a column's numbers in the rows of one group; `sd` is the sample's standard deviation."""

    value: GroupValue
    n: int
    mean: float
    median: float
    sd: float


class GroupFilter(Filter):
    """Filter that keeps the rows of one group."""


def select_comparable_groups(sizes: Mapping[GroupValue, int], total_rows: int) -> tuple[GroupValue, ...]:
    """Return the groups of at least 5 rows, if they are 2 to 12 and cover 95 % of `total_rows`; else none.

    `sizes`: number of rows by group.
    """
    large = tuple(value for value, size in sizes.items() if size >= MIN_ROWS)
    if not MIN_GROUPS <= len(large) <= MAX_GROUPS or sum(sizes[each] for each in large) < MIN_COVERAGE * total_rows:
        return ()
    return large


def find_mixing_rule(groups: Sequence[Group], bounds: ValueRange | None) -> MixingRule | None:
    """Return the rule by which these groups may not be mixed; None if they may.

    By range: the medians of some groups are within `bounds`, the range of the quantity, and others are not. By spread:
    two medians differ by more than `pooled_standard_deviation`.
    """
    if len({_is_in_range(each.median, bounds) for each in groups}) > 1:
        return MixingRule.RANGE
    medians = [each.median for each in groups]
    return MixingRule.SPREAD if max(medians) - min(medians) > pooled_standard_deviation(groups) else None


def pooled_standard_deviation(groups: Sequence[Group]) -> float:
    """Return the standard deviation within the groups, √(Σ(nᵢ−1)sᵢ² / Σ(nᵢ−1))."""
    largest = max(each.sd for each in groups)
    if largest == 0:
        return 0.0
    shares = ((each.n - 1) * (each.sd / largest) ** 2 for each in groups)  # no square overflows or vanishes
    return largest * math.sqrt(sum(shares) / sum(each.n - 1 for each in groups))


def _is_in_range(value: float, value_range: ValueRange | None) -> bool:
    return value_range is None or is_within(value, (value_range.min, value_range.max))


def find_range_of_column(column: str, domain: Domain | None) -> ValueRange | None:
    """Return the domain's range of the quantity with the column's name; None if it sets none."""
    if domain is None:
        return None
    name = index_quantities_by_name(domain).get(normalize_quantity_name(column))
    return domain.value_ranges[name] if name is not None else None


def build_mixing_finding(
    rule: MixingRule,
    groups: Sequence[Group],
    *,
    measured_column: str,
    group_column: str,
    artifact: str,
    secret: bool,
    bounds: ValueRange | None,
    statistics: Sequence[str],
) -> MixedGroups:
    """Build the finding that groups of rows are mixed, with a filter that keeps one of them.

    The filter keeps the largest group whose median is within `bounds`; if none is, the largest group.
    """
    kept = max((each for each in groups if _is_in_range(each.median, bounds)), key=lambda each: each.n, default=None)
    kept = kept or max(groups, key=lambda each: each.n)
    return MixedGroups(
        rule=rule,
        measured=measured_column,
        column=group_column,
        artifact=artifact,
        groups=tuple(GroupSummary(value=g.value, n=g.n, mean=g.mean, median=g.median) for g in groups),
        where=(Filter(column=group_column, op=FilterOp.EQ, value=kept.value),),
        statistics=tuple(statistics),
        secret=secret,
    )


def format_group_claim_name(statistic: str, column: str, value: object) -> str:
    """Return the name by which a statistic of one group is claimed, such as `mean_fitness[condition=A]`."""
    return f"{statistic}[{column}={value}]"


def hide_group_value(claim_name: str) -> str:
    """Replace the group's value in a claim's name by an ellipsis, because it is a cell of the data."""
    start = claim_name.find("[")
    end = claim_name.find("=", start)
    return f"{claim_name[: end + 1]}…]" if claim_name.endswith("]") and 0 <= start < end else claim_name


def format_mixing(mixed: MixedGroups, *, with_groups: bool) -> str:
    """Return one line about mixed groups: the columns, and the groups with their figures.

    `with_groups`: name the groups of the consumer's data, too; those of the agent's data are always named.
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

import statistics

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from aex_models.domains import ValueRange
from aex_models.examination import MixingRule
from aex_outcomes import DomainRegistry
from aex_outcomes.science.mixed import (
    Group,
    build_mixing_finding,
    find_mixing_rule,
    find_range_of_column,
    format_group_claim_name,
    format_mixing,
    hide_group_value,
    pooled_standard_deviation,
    select_comparable_groups,
)

FITNESS = ValueRange(min=-5, max=2)
LOW, HIGH = Group("A", 709, -0.714, -0.7, 0.5), Group("B", 709, 23.6, 23.5, 4.0)
samples = st.lists(st.floats(-100, 100), min_size=5, max_size=20)


def group(values: list[float], value: str = "A") -> Group:
    return Group(value, len(values), statistics.fmean(values), statistics.median(values), statistics.stdev(values))


def report(rule: MixingRule, *groups: Group, secret: bool = False) -> str:
    found = build_mixing_finding(
        rule, groups, measured_column="mut_score", group_column="condition", artifact="a.csv", secret=secret,
        bounds=FITNESS, statistics=["mean_fitness"],
    )  # fmt: skip
    return format_mixing(found, with_groups=False)


@pytest.mark.parametrize(
    ("sizes", "rows", "expected"),
    [
        ({"A": 5, "B": 5}, 10, ("A", "B")),
        ({"A": 5, "B": 4}, 9, ()),
        ({"A": 10}, 10, ()),
        ({"A": 50, "B": 45, "C": 4}, 100, ("A", "B")),
        ({"A": 50, "B": 44, "C": 4}, 100, ()),
        (dict.fromkeys(range(12), 5), 60, tuple(range(12))),
        (dict.fromkeys(range(13), 5), 65, ()),
        ({}, 0, ()),
    ],
)
def test_two_to_twelve_groups_of_five_rows_cover_nearly_all(
    sizes: dict[int | str, int], rows: int, expected: tuple[int | str, ...]
) -> None:
    assert select_comparable_groups(sizes, rows) == expected


def test_medians_on_both_sides_of_a_bound_are_mixed_by_range() -> None:
    assert find_mixing_rule([LOW, HIGH], FITNESS) is MixingRule.RANGE
    assert find_mixing_rule([LOW, HIGH], None) is MixingRule.SPREAD
    assert find_mixing_rule([LOW, HIGH], ValueRange()) is MixingRule.SPREAD
    assert find_mixing_rule([LOW, Group("B", 709, -0.6, -0.6, 0.5)], FITNESS) is None


def test_constant_groups_are_mixed_unless_they_are_equal() -> None:
    assert find_mixing_rule([Group("A", 5, 0, 0, 0), Group("B", 5, 0, 0, 0)], None) is None
    assert find_mixing_rule([Group("A", 5, 0, 0, 0), Group("B", 5, 1e-9, 1e-9, 0)], None) is MixingRule.SPREAD


@given(st.lists(samples, min_size=2, max_size=6))
def test_deviation_within_groups_is_that_of_the_values_less_their_means(values: list[list[float]]) -> None:
    squares = sum((each - statistics.fmean(one)) ** 2 for one in values for each in one)
    expected = (squares / sum(len(one) - 1 for one in values)) ** 0.5
    assert pooled_standard_deviation([group(each) for each in values]) == pytest.approx(expected, rel=1e-6, abs=1e-9)


@given(samples, samples)
def test_one_sample_twice_is_never_mixed_and_a_far_shift_always_is(one: list[float], bounds: list[float]) -> None:
    low, high = min(bounds), max(bounds)
    within = ValueRange(min=low, max=high)
    assert find_mixing_rule([group(one), group(one, "B")], within) is None
    shifted = [each + 1_000 for each in one]
    assert find_mixing_rule([group(one), group(shifted, "B")], None) is MixingRule.SPREAD
    assume(low <= statistics.median(one) <= high)
    assert find_mixing_rule([group(one), group(shifted, "B")], within) is MixingRule.RANGE


@given(st.permutations([LOW, HIGH, Group("C", 9, 1.0, 1.0, 1.0)]))
def test_order_of_the_groups_does_not_matter(groups: list[Group]) -> None:
    assert find_mixing_rule(groups, FITNESS) is MixingRule.RANGE


def test_report_has_the_groups_and_the_filter_of_the_largest_in_range() -> None:
    larger = Group("B", 900, 23.6, 23.5, 4.0)
    assert report(MixingRule.RANGE, LOW, larger) == (
        "a.csv: mixed_groups: mut_score by condition: A (n 709, mean -0.714, median -0.7), "
        "B (n 900, mean 23.6, median 23.5); one group: condition = A"
    )
    assert report(MixingRule.SPREAD, HIGH, Group("C", 5, 9, 9, 0)).endswith("condition = B")
    assert report(MixingRule.RANGE, LOW, HIGH, secret=True) == "a.csv: mixed_groups: mut_score by condition"


def test_range_is_that_of_the_quantity_that_a_column_is_named_after() -> None:
    dms = DomainRegistry.load().get("bioinformatics/DMS")
    assert find_range_of_column("mut_score", dms) == find_range_of_column("Fitness", dms)
    assert (find_range_of_column("depth", dms), find_range_of_column("mut_score", None)) == (None, None)


@given(st.text(), st.text(), st.text())
def test_hidden_name_of_a_group_does_not_depend_on_its_value(column: str, one: str, other: str) -> None:
    names = [format_group_claim_name("mean_fitness", column, value) for value in (one, other)]
    assert hide_group_value(names[0]) == hide_group_value(names[1])
    assert hide_group_value("mean_fitness") == "mean_fitness"
    assert hide_group_value("mean_fitness[condition=A]") == "mean_fitness[condition=…]"

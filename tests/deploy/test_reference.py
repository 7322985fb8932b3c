"""The reference equals the code, and has every name that users meet."""

import re
from collections.abc import Mapping
from enum import StrEnum
from types import ModuleType

import pytest
from pydantic import BaseModel

from aex_governance.rules.table import RULES
from aex_models.examination import CHECKS
from aex_models.statistics import FilterOp, Statistic
from aex_models.thresholds import ComparisonOperator, MetricType
from aex_outcomes.catalog import Catalog
from aex_outcomes.config import BUILT_IN, OutcomeConfig
from deploy.reference.fields import DescriptionMissing, describe_constants, describe_members, walk_fields
from deploy.reference.tables import Section, table
from deploy.write_reference import FILE, build_file_text
from tests.deploy.documents import EXAMPLE, NOT_OF_SERVICES, SOURCES, find_names
from tests.parts.promql import Metric
from tests.parts.settings_table import all_names, load_settings_table

REFERENCE = FILE.read_text(encoding="utf-8")
DOMAINS = Catalog.of().domains.domains


def cells_of(heading: str) -> set[str]:
    """Return the code in the first cell of each row under a heading."""
    section = REFERENCE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return set(re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE))


def test_committed_file_equals_the_code() -> None:
    assert build_file_text() == REFERENCE, "deploy/reference.md differs from the code; run: make reference"


@pytest.mark.parametrize(
    ("heading", "names"),
    [
        ("Metrics", {entry.name for entry in Catalog.of().entries}),
        ("Metric types", set(MetricType)),
        ("Comparisons", set(ComparisonOperator)),
        ("Statistics", set(Statistic)),
        ("Filters of rows", set(FilterOp)),
        ("Science checks", {*CHECKS, *(check.name for domain in DOMAINS for check in domain.sanity_checks)}),
        ("Scientific domains", {domain.name for domain in DOMAINS}),
        ("Fraud rules", {rule.name for rule in RULES}),
        (
            "Thresholds of the rules",
            {f"{rule.name}.thresholds.{name}" for rule in RULES for name in rule.threshold_notes},
        ),
    ],
    ids=lambda each: each if isinstance(each, str) else "",
)
def test_every_name_of_the_code_is_listed(heading: str, names: set[str]) -> None:
    assert cells_of(heading) == names


def test_every_key_of_the_configuration_is_listed() -> None:
    listed = cells_of("Keys of outcome-verification.yaml")
    assert {key.partition(".")[0] for key in listed} == set(OutcomeConfig.model_fields)
    assert {"verifiers.NAME.timeout_ms", "extractors.NAME.sandbox.memory_limit_mb"} < listed
    assert {key.partition(".")[0] for key in cells_of("Keys of the built-in extractors")} < set(BUILT_IN)


def test_every_variable_that_code_reads_or_the_example_lists_is_there() -> None:
    listed = cells_of("Environment variables")
    of_tests = set(NOT_OF_SERVICES) - {"AEX_TOKEN"}
    read = {name for path in SOURCES for name in find_names(path.read_text(encoding="utf-8"))} - of_tests
    example = set(re.findall(r"^#?([A-Z_]+)=", EXAMPLE.read_text(encoding="utf-8"), re.MULTILINE))
    assert read | example | all_names(load_settings_table()) == listed


def test_every_operational_metric_is_listed(metrics: Mapping[str, Metric]) -> None:
    assert cells_of("Operational metrics") == set(metrics)


class Colour(StrEnum):
    RED = "red"
    """Warm."""
    BLUE = "blue"


class Inner(BaseModel):
    width_mm: float


class Outer(BaseModel):
    inner: tuple[Inner, ...] = ()
    """Some."""


def test_name_without_a_sentence_is_reported() -> None:
    with pytest.raises(DescriptionMissing, match=r"test_reference\.Colour\.BLUE has no description"):
        describe_members(Colour)
    with pytest.raises(DescriptionMissing, match=r"test_reference\.Inner\.width_mm has no description"):
        list(walk_fields(Outer))
    module = ModuleType("checks")
    with pytest.raises(DescriptionMissing, match="checks: 'mixed' has no description"):
        describe_constants(module, ("mixed",))


def test_cells_hold_any_text() -> None:
    rows = table(("a", "b"), [("one\n two", "x | y")])
    assert Section("Title", "", rows).markdown() == "## Title\n\n| a | b |\n| --- | --- |\n| one two | x \\| y |\n"

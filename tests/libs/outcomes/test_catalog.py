from pathlib import Path
from typing import Any

import pytest

from aex_models.allowlists import ALLOWED
from aex_models.audiences import Audience, project
from aex_models.catalog import MetricEntry, Requirement
from aex_models.criteria import SuccessCriterion
from aex_models.statistics import StatisticSpec
from aex_models.thresholds import MetricType
from aex_outcomes import Catalog
from aex_outcomes.catalog import UnknownMetric, is_absent
from aex_outcomes.config import InvalidConfig, parse_config
from aex_outcomes.version import ENGINE_VERSION

SAMPLES = "tests.libs.outcomes.extractors.samples"
BUILT_IN = """
accuracy answer_f1 answers_question average_precision balanced_accuracy bleu_score brier choice_match chrf
claims_not_recomputed confidence contains_keywords custom.* domain_violations edit_similarity episode_return_max
episode_return_min exact_match f1_score field_accuracy field_f1 field_precision field_recall fuzzy_ratio
has_required_fields latency_ms log_loss macro_f1 mae mape matches_pattern matches_schema mcc mean_return micro_f1 mrr
ndcg_at_k num_episodes num_predictions num_steps numeric_match output_length platform_latency_ms precision
precision_at_k processing_time r2 reasoning_sound recall recall_at_k record_f1 review_confidence rmse roc_auc
rollout_consistent rouge1 rouge2 rougeL scientific_validity spearman sql_result_match stat.* tests_all_passed
tests_failed tests_pass_rate tests_passed time_to_first_byte value_mismatches values_consistent values_plausible
word_count
"""


N = StatisticSpec.model_validate({"name": "n", "stat": "count"})


def criterion(**fields: object) -> SuccessCriterion:
    return SuccessCriterion.model_validate(fields)


def catalog(**sections: object) -> Catalog:
    return Catalog.of(parse_config({"extractors": sections}))


def test_the_built_in_metrics_are_there_and_sorted() -> None:
    assert [entry.name for entry in Catalog.of().entries] == sorted(BUILT_IN.split())


def test_every_entry_names_types_and_can_be_displayed() -> None:
    for entry in Catalog.of().entries:
        assert entry.metric_types
        for audience in Audience:
            assert set(project(entry, audience)) == set(MetricEntry.model_fields)
    assert MetricEntry in ALLOWED


def test_entries_and_supported_metrics_must_agree() -> None:
    with pytest.raises(InvalidConfig, match="whispering"):
        catalog(mine={"class": f"{SAMPLES}:Undescribed"})


@pytest.mark.parametrize(
    ("metric", "metric_type", "comparison", "threshold", "needs"),
    [
        ("contains_keywords", "contains", "gte", 0.5, ("required_keywords",)),
        ("contains_keywords", "contains", "contains_all", ["a"], ()),
        ("contains_keywords", "contains", "contains_any", ["a"], ()),
        ("matches_schema", "matches_schema", "eq", True, ("output_schema",)),
        ("matches_schema", "matches_schema", "eq", {"type": "object"}, ()),
    ],
)
def test_terms_and_schemas_in_the_threshold_are_open_and_need_no_evaluation_data(
    metric: str, metric_type: str, comparison: str, threshold: object, needs: tuple[str, ...]
) -> None:
    expected = criterion(metric=metric, metric_type=metric_type, comparison=comparison, threshold=threshold)
    assert Catalog.of().required_evaluation_keys(expected) == needs
    assert Catalog.of().has_secret_value(expected) is bool(needs)


def test_lengths_and_times_are_never_secret() -> None:
    open_metrics = {entry.name for entry in Catalog.of().entries if not entry.secret}
    assert open_metrics >= {"output_length", "latency_ms", "confidence", "num_predictions"}


def test_the_engine_version_changes_with_extractors_and_settings() -> None:
    versions = {
        Catalog.of().engine_version,
        catalog(latency={"enabled": False}).engine_version,
        catalog(text_quality={"config": {"text_pointer": "/body"}}).engine_version,
        catalog(mine={"class": f"{SAMPLES}:Sample"}).engine_version,
        catalog(custom={"sandbox": {"timeout_ms": 100}}).engine_version,
    }
    assert len(versions) == 5
    assert Catalog.of().engine_version == Catalog.of().engine_version
    assert all(each.startswith(f"{ENGINE_VERSION}+") for each in versions)


def test_an_empty_schema_is_there_and_an_empty_list_is_not() -> None:
    values: list[Any] = [None, "", [], {}, False, ["a"]]
    assert [is_absent(value) for value in values] == [True, True, True, False, False, False]


def test_the_type_custom_is_for_custom_and_for_other_peoples_metrics() -> None:
    assert [each.name for each in Catalog.of().entries if MetricType.CUSTOM in each.metric_types] == ["custom.*"]


@pytest.mark.parametrize("name", ["custom.score", "custom.a-b_1", "custom.a.b", "custom.a.b.c", "custom.a.1"])
def test_any_well_formed_custom_metric_is_known(name: str) -> None:
    known = Catalog.of()
    named = criterion(metric=name, metric_type="custom", comparison="gte", threshold=1)
    assert name in known
    assert (known.entry(name).name, known.sources[name]) == (name, "custom")
    assert known.required_evaluation_keys(named) == ("custom_metrics",)
    assert known.has_secret_value(named)


@pytest.mark.parametrize(
    "name",
    [
        "custom", "custom.", "custom.1", "custom..a", "custom.a.", "custom.é", "custom." + "a" * 128, "stat", "stat.",
        "stat.1", "stat..a", "stat.é", "stat.*x", "stat." + "a" * 101,
    ],
)  # fmt: skip
def test_malformed_name_of_a_works_own_metric_is_unknown(name: str) -> None:
    known = Catalog.of()
    assert name not in known
    assert name not in known.sources
    with pytest.raises(UnknownMetric):
        known.entry(name)
    with pytest.raises(KeyError):
        known.sources[name]


def test_the_custom_section_takes_no_settings_but_its_sandbox() -> None:
    with pytest.raises(InvalidConfig, match=r"extractors\.custom\.config"):
        catalog(custom={"config": {"rouge_types": []}})


@pytest.mark.parametrize("name", ["stat.n", "stat.mean_fitness", "stat.a-b_1", "stat.a.b", "stat." + "a" * 100])
def test_any_well_formed_statistic_is_known_and_needs_science(name: str) -> None:
    known = Catalog.of()
    assert name in known
    assert (known.entry(name).name, known.sources[name]) == (name, "statistics")
    assert Requirement.RECOMPUTE_STATISTICS in known.entry(name).requires
    assert (
        known.required_evaluation_keys(criterion(metric=name, metric_type="numeric", comparison="gte", threshold=1))
        == ()
    )


def test_disabled_section_has_no_metrics() -> None:
    without = catalog(statistics={"enabled": False}, custom={"enabled": False}, latency={"enabled": False})
    assert not any(name in without for name in ("stat.n", "stat.*", "custom.score", "custom.*", "latency_ms"))
    with pytest.raises(KeyError):
        without.sources["stat.n"]
    assert without.with_statistics([N]).by_name == without.by_name


@pytest.mark.parametrize(
    ("stat", "bounds", "counts"),
    [
        ("count", (0, None), True),
        ("n_unique", (0, None), True),
        ("std", (0, None), False),
        ("mean", (None, None), False),
        ("min", (None, None), True),
        ("sum", (None, None), True),
    ],
)
def test_the_kind_of_a_works_own_statistic_narrows_its_entry(
    stat: str, bounds: tuple[float | None, float | None], counts: bool
) -> None:
    spec = StatisticSpec.model_validate({"name": "n", "stat": stat, "column": "x"})
    entry = Catalog.of().with_statistics([spec]).entry("stat.n")
    assert (entry.name, entry.range, MetricType.COUNT in entry.metric_types) == ("stat.n", bounds, counts)
    assert MetricType.NUMERIC in entry.metric_types


@pytest.mark.parametrize(("stat", "bounds"), [("pearson", (-1, 1)), ("spearman", (-1, 1)), ("r_squared", (0, 1))])
def test_correlations_have_the_range_that_they_have(stat: str, bounds: tuple[float, float]) -> None:
    spec = StatisticSpec.model_validate({"name": "r", "stat": stat, "columns": ["x", "y"]})
    assert Catalog.of().with_statistics([spec]).entry("stat.r").range == bounds


@pytest.mark.parametrize("name", ["stat.mine", "stat.*", "custom.mine", "custom.a.b"])
def test_no_other_extractor_may_bring_metrics_of_these_names(name: str) -> None:
    with pytest.raises(InvalidConfig, match="names that begin with"):
        catalog(mine={"class": f"{SAMPLES}:Sample", "config": {"metrics": [name]}})


def test_domains_are_those_of_the_package_and_of_the_configured_folder(tmp_path: Path) -> None:
    (tmp_path / "optics.yaml").write_text("name: physics/optics\ndescription: Light.\n")
    packaged, further = Catalog.of(), catalog(science={"config": {"domains_folder": str(tmp_path)}})
    assert set(further.domains.names) - set(packaged.domains.names) == {"physics/optics"}
    assert further.engine_version != packaged.engine_version  # for the setting


def test_a_works_domain_counts_where_its_science_names_none() -> None:
    known = Catalog.of()
    named = [
        known.resolve_domain(*names) for names in (("bioinformatics/DMS", "general"), (None, "bioinformatics/DMS"))
    ]
    assert [each.name for each in named if each] == ["bioinformatics/DMS"] * 2
    assert known.resolve_domain(None, "general") is None
    assert known.resolve_domain(None, None) is None


def test_without_the_section_there_is_no_science() -> None:
    assert Catalog.of().has_science
    assert not catalog(science={"enabled": False}).has_science


def test_a_catalogue_is_loaded_from_a_file_or_from_the_defaults(tmp_path: Path) -> None:
    own = tmp_path / "outcome-verification.yaml"
    own.write_text("verification: {max_criteria_per_task: 3}\n", encoding="utf-8")
    assert Catalog.from_config_file(own).max_criteria == 3
    assert Catalog.from_config_file(None).entries == Catalog.of().entries


def test_a_file_that_cannot_be_loaded_is_named_with_the_position_or_the_reason(tmp_path: Path) -> None:
    own = tmp_path / "outcome-verification.yaml"
    with pytest.raises(InvalidConfig) as missing:
        Catalog.from_config_file(own)
    assert missing.value.problems == [(str(own), "No such file or directory")]
    own.write_text("verification: {max_criteria_per_task: many}\n", encoding="utf-8")
    with pytest.raises(InvalidConfig) as wrong:
        Catalog.from_config_file(own)
    assert [place for place, _ in wrong.value.problems] == [f"{own}: verification.max_criteria_per_task"]

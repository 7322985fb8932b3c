from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_models.domains import Domain, ValueRange
from aex_models.examination import Fault
from aex_models.science import Science
from aex_outcomes import DataLimits, DomainRegistry, recompute
from aex_outcomes.science.examine import examine
from aex_outcomes.science.statistic_specs import derive_specs_from_claims
from tests.libs.outcomes.science.raw_data import CONSUMER, parquet, written

DMS = DomainRegistry.load().get("bioinformatics/DMS")
TABLE = "mut_score,site\n-0.4,1\n-0.5,2\n"


def read(claim: str, domain: Domain | None = DMS, score: str = "mut_score") -> tuple[str, float | None] | None:
    found = list(derive_specs_from_claims([claim], domain, score, [score, "site"]))
    return (found[0].stat.value, found[0].q) if found else None


@pytest.mark.parametrize(
    ("claim", "stat", "q"),
    [
        ("fitness_mean", "mean", None),
        ("mean of fitness", "mean", None),
        ("mut_score_mean", "mean", None),
        ("\uff4dean_\uff46itness", "mean", None),  # full-width letters
        ("median_fitness", "median", None),
        ("sd_fitness", "std", None),
        ("fitness.variance", "var", None),
        ("fitness_p95", "quantile", 0.95),
        ("quantile_0.25_fitness", "quantile", 0.25),
        ("fitness_quartile_3", "quantile", 0.75),
        ("95th_percentile_fitness", "quantile", 0.95),
    ],
)
def test_a_claim_names_a_statistic_of_the_score_in_words_of_its_own(claim: str, stat: str, q: float | None) -> None:
    assert read(claim) == (stat, q)


@pytest.mark.parametrize(
    "claim",
    [
        "fitness", "fitness_2", "mean_fitness_treated", "mean_site", "mean_log_fold_change", "mean_median_fitness",
        "max_abs_fitness", "q1_fitness", "quantile_fitness", "quantile_7_fitness", "n_fitness", "sem_fitness", "mean",
        "", "x" * 301, "mean_fit\x00ness",
    ],
)  # fmt: skip
def test_what_names_no_one_statistic_of_the_score_is_held_against_nothing(claim: str) -> None:
    assert read(claim) is None


def test_a_score_column_that_no_range_is_for_is_known_by_its_own_name() -> None:
    own = Domain(name="mine", description="d", common_columns=("my score",))
    assert read("Median_My_Score", own, "my score") == ("median", None)
    assert read("median_fitness", own, "my score") is None
    other = own.model_copy(update={"value_ranges": {"fitness": ValueRange()}})
    assert read("median_fitness", other, "my score") is None


@given(st.text(max_size=320))
def test_any_claim_is_read_or_left_alone(claim: str) -> None:
    for each in derive_specs_from_claims([claim, f"mean_fitness {claim}"], DMS, "mut_score", ["mut_score"]):
        assert each.column == "mut_score"


def test_few_quantiles_are_computed_for_claims() -> None:
    claims = [f"fitness_p{place}" for place in range(100)]
    assert len(list(derive_specs_from_claims(claims, DMS, "mut_score", ["mut_score"]))) == 20


def test_claims_under_other_names_are_recomputed_and_held(tmp_path: Path) -> None:
    claims = {"Mean_Fitness": 1.9, "fitness_mean": -0.45, "median_fitness": -0.45, "site_mean": 1.5, "other": 1}
    found = examine(Science(question="?"), DMS, claims, [written(tmp_path, "a.csv", TABLE)], DataLimits())
    assert {each.name: each.status.value for each in found.reconciliation if each.name in claims} == {
        "Mean_Fitness": "mismatch", "fitness_mean": "match", "median_fitness": "match", "site_mean": "match",
        "other": "not_recomputed",
    }  # fmt: skip


def test_another_column_that_the_claim_names_exactly_is_meant(tmp_path: Path) -> None:
    file = written(tmp_path, "a.csv", "mut_score,fitness\n0,1\n0,3\n")
    found = {each.name: each.value for each in recompute([file], [], domain=DMS, claims=["median_fitness"]).values}
    assert (found["mean_fitness"], found["fitness_mean"], found["median_fitness"]) == (0, 2, 2)


def test_columns_may_be_called_as_claims_may(tmp_path: Path) -> None:
    table = "mutation,read count,mut_score,24h,log2 FC,\u202e\nA1G,5,-0.4,1,2,3\nA2G,7,-0.3,2,3,4\n"
    found = {each.name: each.value for each in recompute([written(tmp_path, "a.csv", table)], [], domain=DMS).values}
    assert {name: found[name] for name in found if name.endswith("_mean")} == {
        "read count_mean": 6, "24h_mean": 1.5, "log2 FC_mean": 2.5,
    }  # fmt: skip
    nested = parquet({"a": [[1.0]], "b": [{"c": 1.0}], "c": [b"1"], "x": [1.0]})
    assert [each.name for each in recompute([written(tmp_path, "a.parquet", nested)], []).values] == ["x_mean"]


def test_means_are_of_the_file_with_the_score_or_with_numbers(tmp_path: Path) -> None:
    words, scores = written(tmp_path, "a.csv", "words\nw\n"), written(tmp_path, "b.csv", TABLE)
    found = recompute([words, scores], [])
    assert [(each.name, each.artifact) for each in found.values][1:] == [("site_mean", "b.csv")]
    assert found.problems == ()
    sites = written(tmp_path, "c.csv", "site\n100\n")
    assert {each.artifact for each in recompute([sites, scores], [], domain=DMS).values} == {"b.csv"}


@pytest.mark.parametrize(
    ("table", "expected"),
    [("x,y\n1,2\n2\n", "ragged_rows"), ('x,y\n1,2\n"2\n', "not_csv"), ("x,y\n", "no_rows"), ('{"x": 1}\n', "not_csv")],
)
def test_unreadable_file_is_reported_without_requested_statistics(tmp_path: Path, table: str, expected: str) -> None:
    (agent_file,) = recompute([written(tmp_path, "a.csv", table)], []).problems
    assert (agent_file.code, agent_file.name, agent_file.fault) == (expected, None, Fault.AGENT)
    (own,) = recompute([written(tmp_path, "b.csv", table, CONSUMER)], []).problems
    assert (own.code, own.fault) == (expected, Fault.PLATFORM)


def test_agent_reads_its_own_columns_and_the_consumers_stay_secret(tmp_path: Path) -> None:
    assert DMS is not None
    (problem,) = recompute([written(tmp_path, "a.csv", "mutant,note\nA1C,w\n")], [], domain=DMS).problems
    assert (problem.code, problem.fault) == ("column_missing", Fault.AGENT)
    assert all(f'"{name}"' in problem.message for name in (*DMS.common_columns, "mutant", "note"))
    found = recompute([written(tmp_path, "a.csv", "secret\nA1C\n", CONSUMER)], [], domain=DMS)
    assert found.values == ()
    assert not any("secret" in each.message for each in found.problems)

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from aex_models.domains import Domain
from aex_models.examination import Examination
from aex_outcomes import DataLimits, DomainRegistry, SourceFile
from aex_outcomes.science.job import examine_candidate
from tests.libs.outcomes.science.fitness import CSV as TABLE
from tests.libs.outcomes.science.fitness import MEAN, MEAN_SPEC, csv_of
from tests.libs.outcomes.science.raw_data import CONSUMER, written

DMS = DomainRegistry.load().get("bioinformatics/DMS")


def examined(claims: dict[str, Any], *files: SourceFile, domain: Domain | None = DMS, **science: Any) -> Examination:
    payload = {
        "science": {"statistics": [MEAN_SPEC], **science},
        "domain": domain.model_dump(mode="json") if domain else None,
        "claimed_values": claims,
        "files": [asdict(each) for each in files],
        "limits": asdict(DataLimits()),
    }
    answer = json.loads(json.dumps(examine_candidate(json.loads(json.dumps(payload))), allow_nan=False))
    return Examination.model_validate(answer["examination"])


def report(found: Examination) -> dict[str, str]:
    return {each.name: each.status.value for each in found.reconciliation}


def test_the_motivating_failure_is_a_critical_mismatch_and_a_violation(tmp_path: Path) -> None:
    found = examined({"mean_fitness": "11.17"}, written(tmp_path, "scores.csv", TABLE))
    assert [(each.status, each.severity) for each in found.reconciliation] == [("mismatch", "critical")]
    assert [each.name for each in found.domain_violations] == ["mean_fitness"]
    assert (found.claims, found.in_range, found.demanded) == (1, 1, ("mean_fitness",))


def test_the_honest_claim_matches_and_a_claims_own_decimals_count(tmp_path: Path) -> None:
    file = written(tmp_path, "scores.csv", TABLE)
    for claim, status in ((f"{MEAN:.2f}", "match"), (repr(MEAN), "match"), ("-0.40", "mismatch")):
        found = examined({"mean_fitness": claim}, file)
        assert report(found) == {"mean_fitness": status}
        assert found.domain_violations == ()


def test_null_violates_and_zero_matches_a_mean_of_zero(tmp_path: Path) -> None:
    found = examined({"mean_fitness": "null", "novelty": "null"}, written(tmp_path, "scores.csv", TABLE))
    assert report(found) == {"mean_fitness": "mismatch", "novelty": "not_recomputed"}
    assert [(each.name, each.value) for each in found.domain_violations] == [("mean_fitness", None), ("novelty", None)]
    assert (found.claims, found.in_range, found.unchecked) == (2, 2, ())
    for claim in ("0", "0.0", "5.5e-17"):
        found = examined({"mean_fitness": claim}, written(tmp_path, "scores.csv", csv_of(-0.1, 0.3, -0.2)))
        assert report(found) == {"mean_fitness": "match"}


def test_a_forged_artifact_changes_nothing_where_the_consumer_has_data(tmp_path: Path) -> None:
    forged = written(tmp_path, "scores.csv", csv_of(11.1, 11.2))
    found = examined({"mean_fitness": "11.15"}, forged, written(tmp_path, "own.csv", TABLE, CONSUMER))
    assert [(each.status, each.recomputed, each.secret) for each in found.reconciliation] == [
        ("mismatch", found.recomputed[0].value, True)
    ]
    assert {each.name for each in found.findings} == set()


def test_sanity_checks_are_findings_unless_they_are_demanded(tmp_path: Path) -> None:
    file = written(tmp_path, "scores.csv", csv_of(-4.0, -4.5))
    found = examined({"mean_fitness": "-4.25"}, file)
    assert ([each.name for each in found.findings], found.domain_violations) == (["fitness_mean_near_zero"], ())
    checks = ["value_ranges", "recompute_statistics", "fitness_mean_near_zero"]
    demanded = examined({"mean_fitness": "-4.25"}, file, checks=checks)
    assert [(each.name, each.secret) for each in demanded.domain_violations] == [("fitness_mean_near_zero", False)]
    assert demanded.findings == ()
    assert {each.name for each in demanded.recomputed} == {"mean_fitness"}


def test_default_statistics_are_held_only_against_what_is_claimed(tmp_path: Path) -> None:
    table = "mutant,mut_score,depth\nA,0.5,nan\nB,-0.5,3\n"
    file = written(tmp_path, "scores.csv", table, CONSUMER)
    found = examined({"std_fitness": "0.71", "novelty": "3"}, file, statistics=[])
    assert report(found) == {
        "mean_fitness": "not_claimed", "std_fitness": "match", "min_fitness": "not_claimed",
        "max_fitness": "not_claimed", "depth_mean": "not_claimed", "novelty": "not_recomputed",
    }  # fmt: skip
    assert found.problems == ()  # depth_mean was not claimed
    assert [each.code for each in examined({"depth_mean": "3"}, file, statistics=[]).problems] == ["not_finite"]


def test_what_is_not_checked_is_not_examined(tmp_path: Path) -> None:
    file = written(tmp_path, "scores.csv", TABLE)
    ranges = examined({"mean_fitness": "11.17"}, file, checks=["value_ranges"])
    assert (ranges.reconciliation, ranges.recomputed, len(ranges.domain_violations)) == ((), (), 1)
    data = examined({"mean_fitness": "11.17"}, file, checks=["recompute_statistics"])
    assert (report(data), data.domain_violations, data.in_range) == ({"mean_fitness": "mismatch"}, (), 0)
    nothing = examined({"mean_fitness": "-0.4"})
    assert report(nothing) == {"mean_fitness": "not_recomputed"}
    problems = [(each.code, each.name, each.fault) for each in nothing.problems]
    assert problems == [("artifact_missing", "mean_fitness", "agent")]


def test_a_claim_that_is_no_number_is_a_critical_mismatch(tmp_path: Path) -> None:
    for claim in ("NaN", "1e999", "x", None, "true"):
        found = examined({"mean_fitness": claim}, written(tmp_path, "scores.csv", TABLE))
        assert [(each.status, each.severity, each.claimed) for each in found.reconciliation] == [
            ("mismatch", "critical", None)
        ]
        assert len(found.domain_violations) == 1


def test_result_lists_mismatches_first_up_to_a_thousand(tmp_path: Path) -> None:
    claims = {f"n{place}": "1" for place in range(1_200)} | {"mean_fitness": "11.17"}
    found = examined(claims, written(tmp_path, "scores.csv", TABLE))
    assert len(found.reconciliation) == 1_000
    assert found.reconciliation[0].name == "mean_fitness"
    assert found.claims == 1_201


def test_two_hundred_cut_column_names_are_kept_for_a_review_alone(tmp_path: Path) -> None:
    header = ",".join(f"{'n' * 150}{at}" for at in range(300))
    file = written(tmp_path, "a.csv", f"{header}\n{'1,' * 299}1\n")
    [seen] = examined({}, file, checks=["recompute_statistics", "peer_review"]).files
    assert (seen.name, len(seen.columns), {len(name) for name in seen.columns}) == ("a.csv", 200, {100})
    assert examined({}, file).files == ()

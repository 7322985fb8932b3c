from pathlib import Path

from aex_models.examination import Fault
from aex_models.science import Science
from aex_outcomes import DomainRegistry
from aex_outcomes.science.gate import decide_science_result
from tests.libs.outcomes.science.fitness import CSV as TABLE
from tests.libs.outcomes.science.fitness import csv_of
from tests.libs.outcomes.science.raw_data import CONSUMER, written
from tests.libs.outcomes.science.test_examine import DMS, examined

WORDS = "word\nw\n"
NEAR_ZERO = "fitness_mean_near_zero"
assert DMS is not None
WITHOUT_CHECKS = DMS.model_copy(update={"sanity_checks": ()})


def test_default_statistics_of_own_data_without_numbers_are_the_platforms_fault(tmp_path: Path) -> None:
    own, forged = written(tmp_path, "own.csv", WORDS, CONSUMER), written(tmp_path, "a.csv", csv_of(11.1, 11.2))
    found = examined({"mean_fitness": "0.1"}, own, forged, statistics=[])
    assert [(each.code, each.fault) for each in found.problems] == [("nothing_to_recompute", Fault.PLATFORM)]
    assert found.recomputed == ()
    assert decide_science_result(Science(), found, None).passed is None


def test_a_sanity_check_is_never_passed_by_a_forged_file(tmp_path: Path) -> None:
    own, forged = written(tmp_path, "own.csv", WORDS, CONSUMER), written(tmp_path, "a.csv", csv_of(0.0, 0.1))
    found = examined({}, own, forged, statistics=[], checks=[NEAR_ZERO])
    assert [(each.code, each.name, each.fault) for each in found.problems] == [
        ("column_missing", f"sanity.{NEAR_ZERO}", Fault.PLATFORM)
    ]
    assert found.domain_violations == ()
    extreme = examined({}, written(tmp_path, "b.csv", csv_of(9.0, 9.1)), forged, statistics=[], checks=[NEAR_ZERO])
    assert [each.name for each in extreme.domain_violations] == [NEAR_ZERO]


def test_sanity_checks_are_of_own_data_also_where_the_statistic_is_of_an_agents_file(tmp_path: Path) -> None:
    own = written(tmp_path, "own.csv", csv_of(-4.0, -4.5), CONSUMER)
    spec = {"name": "m", "stat": "mean", "column": "mut_score", "artifact": "a.csv"}
    found = examined({"m": "0.05"}, own, written(tmp_path, "a.csv", csv_of(0.0, 0.1)), statistics=[spec])
    assert [(each.name, each.secret) for each in found.findings] == [(NEAR_ZERO, True)]


def test_files_are_not_looked_at_for_sanity_checks_that_a_domain_has_not(tmp_path: Path) -> None:
    own = written(tmp_path, "own.csv", TABLE, CONSUMER)
    broken = written(tmp_path, "a.csv", b"PK\x03\x04")
    named = [{"name": "n", "stat": "count", "artifact": "own.csv"}]
    for domain in (None, WITHOUT_CHECKS, DomainRegistry.load().get("statistics/correlation")):
        assert examined({"n": "3"}, broken, domain=domain, statistics=named).problems[0].code == "artifact_missing"
        assert len(examined({"n": "3"}, broken, domain=domain, statistics=named).problems) == 1
        assert examined({"n": "3"}, own, broken, domain=domain, statistics=named).problems == ()

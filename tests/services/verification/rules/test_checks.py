from typing import Any

import pytest

from aex_models.domains import Domain
from aex_models.examination import (
    DataOwner,
    DataProblem,
    Examination,
    Fault,
    GroupSummary,
    MixedGroups,
    MixingRule,
    Recomputed,
)
from aex_models.science import Science
from aex_models.work import EvaluationBlob
from aex_verification.rules.checks import (
    OWN_DATA_ALONE,
    UnreadableFindings,
    find_data_warnings,
    is_slow_trial,
    needs_criteria_trial,
    needs_data_trial,
    parse_trial_findings,
)

CODE = {"custom_metrics": [{"name": "mine", "code": "def evaluate(i, o, m): return 1"}]}
REFERENCE = {"reference": "A harbour."}
CRITERIA = {"criteria": [{"metric": "rougeL", "metric_type": "rouge_score", "comparison": "gte", "threshold": 0.5}]}
FILE = {"name": "own.csv", "sha256": "0" * 64}
MEAN = {"name": "mean_fitness", "stat": "mean", "column": "mut_score"}
DOMAIN = Domain.model_validate(
    {
        "name": "dms",
        "description": "Deep mutational scans.",
        "common_columns": ["score"],
        "statistics": [{"name": "mean_score", "stat": "mean"}],
    }
)

TABLES = {"t": {"columns": {"a": "INTEGER"}}}
TESTS = {"language": "python", "style": "functions", "files": {"test_a.py": "def test_a(): pass"}}


def blob(**fields: Any) -> EvaluationBlob:
    return EvaluationBlob.model_validate({"salt": "0" * 64, **fields})


@pytest.mark.parametrize(
    ("given", "criteria", "data", "slow"),
    [
        (blob(), False, False, False),
        (blob(evaluation=REFERENCE), False, False, False),
        (blob(evaluation=REFERENCE, success_criteria=CRITERIA), True, False, False),
        (blob(evaluation=CODE), True, False, True),
        (blob(evaluation={"tests": TESTS}), True, False, True),
        (blob(evaluation={"sql": {"tables": TABLES, "expected": {"query": "SELECT 1"}}}), True, False, True),
        (blob(evaluation={"sql": {"tables": TABLES, "expected": {"rows": [[1]]}}}), False, False, False),
        (blob(science={"statistics": [MEAN]}), False, False, False),
        (blob(science={"data": [FILE]}), False, True, True),
    ],
    ids=[
        "nothing",
        "a reference alone",
        "a reference and criteria",
        "code",
        "tests",
        "a query",
        "rows",
        "science alone",
        "own raw data",
    ],
)
def test_trials_follow_from_the_evaluation_data(given: EvaluationBlob, criteria: bool, data: bool, slow: bool) -> None:
    assert (needs_criteria_trial(given), needs_data_trial(given), is_slow_trial(given)) == (criteria, data, slow)


def science(**fields: Any) -> Science:
    return Science.model_validate({"data": [FILE], "statistics": [MEAN], **fields})


def problem(fault: Fault, **fields: Any) -> DataProblem:
    return DataProblem(code="column_missing", message="No column 'mut_score'", fault=fault, **fields)


@pytest.mark.parametrize(
    ("found", "path"),
    [
        ({"name": "mean_fitness"}, "/science/statistics/0"),
        ({"name": "mean_fitness", "artifact": "own.csv"}, "/science/statistics/0"),
        ({"artifact": "own.csv"}, "/science/data/0"),
        ({}, "/science/data"),
    ],
    ids=["of a statistic", "of both", "of a file", "of neither"],
)
def test_problem_has_the_pointer_of_statistic_or_file(found: dict[str, str], path: str) -> None:
    [reported] = find_data_warnings(science(), None, Examination(problems=(problem(Fault.PLATFORM, **found),)))
    assert (reported.path, reported.code) == (path, "column_missing")
    assert "no candidate has a verdict" in reported.suggestion


@pytest.mark.parametrize(("name", "what"), [("mean_fitness", "mut_score"), ("gone", "it")])
def test_missing_column_is_read_from_agents_files(name: str, what: str) -> None:
    [reported] = find_data_warnings(science(), None, Examination(problems=(problem(Fault.AGENT, name=name),)))
    assert reported.code == OWN_DATA_ALONE
    assert reported.message == f"No file of the work's own data has {what}: it is recomputed from agents' files"


def computed(*names: str) -> Examination:
    rows = [Recomputed(name=each, value=1.0, owner=DataOwner.CONSUMER, artifact="own.csv") for each in names]
    return Examination(recomputed=tuple(rows))


def test_missing_score_column_is_warned_of_with_candidates() -> None:
    [reported] = find_data_warnings(science(statistics=[]), DOMAIN, computed())
    assert (reported.path, reported.code) == ("/science/data", "recipes_not_served")
    assert "score column of dms (score): claims of mean_score are not recomputed" in reported.message


@pytest.mark.parametrize(
    ("demanded", "domain", "examination"),
    [
        (science(statistics=[]), None, computed()),
        (science(), DOMAIN, computed()),
        (science(statistics=[], checks=["value_ranges"]), DOMAIN, computed()),
        (science(statistics=[]), DOMAIN, computed("mean_score")),
        (science(statistics=[]), DOMAIN.model_copy(update={"statistics": ()}), computed()),
    ],
    ids=["no domain", "statistics of its own", "nothing to recompute", "a recipe is served", "no recipes"],
)
def test_recipes_are_warned_of_only_where_required_and_unserved(
    demanded: Science, domain: Domain | None, examination: Examination
) -> None:
    assert find_data_warnings(demanded, domain, examination) == ()


def mixed(rule: MixingRule, *statistics: str) -> Examination:
    groups = [GroupSummary(value=value, n=9, mean=1, median=1) for value in ("canary", "B")]
    columns = {"measured": "mut_score", "column": "condition", "artifact": "own.csv"}
    return Examination(
        mixed_groups=(MixedGroups(rule=rule, groups=groups, statistics=statistics, secret=True, **columns),)
    )


@pytest.mark.parametrize("rule", MixingRule)
def test_statistic_over_mixed_groups_is_warned_of_with_its_pointer_and_no_cell(rule: MixingRule) -> None:
    other = {**MEAN, "name": "filtered"}
    [reported] = find_data_warnings(science(statistics=[other, MEAN]), DOMAIN, mixed(rule, "mean_fitness"))
    assert (reported.path, reported.code) == ("/science/statistics/1", "mixed_groups")
    assert '"mut_score" has groups by "condition"' in reported.message
    assert "where" in reported.suggestion
    assert "canary" not in str(reported)


@pytest.mark.parametrize(
    ("rule", "checks", "expected"),
    [
        (MixingRule.RANGE, [], ["mixed_groups"]),
        (MixingRule.SPREAD, [], []),
        (MixingRule.SPREAD, ["mixed_groups"], ["mixed_groups"]),
    ],
)
def test_default_statistics_over_mixed_groups_are_warned_of_where_they_are_not_computed(
    rule: MixingRule, checks: list[str], expected: list[str]
) -> None:
    demanded = science(statistics=[], checks=["recompute_statistics", *checks])
    found = mixed(rule, "mean_score").model_copy(update={"recomputed": computed("mean_score[condition=A]").recomputed})
    assert [each.code for each in find_data_warnings(demanded, DOMAIN, found)] == expected


def finding(message: str = "It loops") -> dict[str, str]:
    return {"path": "/evaluation/custom_metrics/0", "code": "custom_code_failed", "message": message}


def warning(text: str = "Never met") -> dict[str, str]:
    return {"path": "/success_criteria", "code": "unreachable", "message": text, "suggestion": "Lower it"}


def test_findings_are_read_within_their_limit() -> None:
    found = parse_trial_findings({"problems": [finding()], "warnings": [warning()], "further": 1})
    assert [each.message for each in found.problems] == ["It loops"]
    assert [each.message for each in found.warnings] == ["Never met"]
    most = parse_trial_findings({"problems": [finding()] * 150, "warnings": [warning()] * 50})
    assert (len(most.problems), len(most.warnings)) == (150, 50)


@pytest.mark.parametrize(
    "answer",
    [
        {},
        {"problems": []},
        {"problems": "none", "warnings": []},
        {"problems": [{"canary": 1}], "warnings": []},
        {"problems": [finding("canary" * 400)], "warnings": []},
        {"problems": [], "warnings": [warning("canary" * 400)]},
        {"problems": [finding("canary")] * 150, "warnings": [warning("canary")] * 51},
    ],
    ids=["nothing", "half", "no list", "no finding", "a long problem", "a long warning", "too many together"],
)
def test_unreadable_findings_are_refused_unquoted(answer: dict[str, Any]) -> None:
    with pytest.raises(UnreadableFindings) as refused:
        parse_trial_findings(answer)
    assert "canary" not in str(refused.value)
    assert refused.value.__cause__ is None

"""The trial of a work before any award: what is tried, what a worker may answer, and what own raw data cannot serve."""

from typing import Any

import pytest

from aex_models.domains import Domain
from aex_models.examination import DataOwner, DataProblem, Examination, Recomputed
from aex_models.faults import Fault
from aex_models.science import Science
from aex_models.work import EvaluationBlob
from aex_verification.rules.checks import (
    OWN_DATA_ALONE,
    UnreadableFindings,
    data_warnings,
    is_slow_trial,
    needs_trial,
    read_findings,
    tries_criteria,
    tries_data,
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


def blob(**fields: Any) -> EvaluationBlob:
    return EvaluationBlob.model_validate({"salt": "0" * 64, **fields})


@pytest.mark.parametrize(
    ("given", "criteria", "data", "slow"),
    [
        (blob(), False, False, False),
        (blob(evaluation=REFERENCE), False, False, False),
        (blob(evaluation=REFERENCE, success_criteria=CRITERIA), True, False, False),
        (blob(evaluation=CODE), True, False, True),
        (blob(science={"statistics": [MEAN]}), False, False, False),
        (blob(science={"data": [FILE]}), False, True, True),
    ],
    ids=["nothing", "a reference alone", "a reference and criteria", "code", "science alone", "own raw data"],
)
def test_what_a_work_brings_decides_what_is_tried_and_whether_others_would_wait_for_it(
    given: EvaluationBlob, criteria: bool, data: bool, slow: bool
) -> None:
    assert (tries_criteria(given), tries_data(given), is_slow_trial(given)) == (criteria, data, slow)
    assert needs_trial(given) is (criteria or data)


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
def test_a_problem_is_told_at_the_statistic_or_else_at_the_file(found: dict[str, str], path: str) -> None:
    [told] = data_warnings(science(), None, Examination(problems=(problem(Fault.PLATFORM, **found),)))
    assert (told.path, told.code) == (path, "column_missing")
    assert "no candidate has a verdict" in told.suggestion


@pytest.mark.parametrize(("name", "what"), [("mean_fitness", "mut_score"), ("gone", "it")])
def test_what_the_own_data_hold_nothing_of_is_left_to_the_agents_files(name: str, what: str) -> None:
    [told] = data_warnings(science(), None, Examination(problems=(problem(Fault.AGENT, name=name),)))
    assert told.code == OWN_DATA_ALONE
    assert told.message == f"No file of the work's own data has {what}: it is recomputed from agents' files"


def computed(*names: str) -> Examination:
    rows = [Recomputed(name=each, value=1.0, owner=DataOwner.CONSUMER, artifact="own.csv") for each in names]
    return Examination(recomputed=tuple(rows))


def test_data_without_a_score_column_are_told_with_the_columns_that_would_do() -> None:
    [told] = data_warnings(science(statistics=[]), DOMAIN, computed())
    assert (told.path, told.code) == ("/science/data", "recipes_not_served")
    assert "score column of dms (score): claims of mean_score are not recomputed" in told.message


@pytest.mark.parametrize(
    ("wanted", "domain", "examination"),
    [
        (science(statistics=[]), None, computed()),
        (science(), DOMAIN, computed()),
        (science(statistics=[], checks=["value_ranges"]), DOMAIN, computed()),
        (science(statistics=[]), DOMAIN, computed("mean_score")),
        (science(statistics=[]), DOMAIN.model_copy(update={"statistics": ()}), computed()),
    ],
    ids=["no domain", "statistics of its own", "nothing to recompute", "a recipe is served", "no recipes"],
)
def test_a_domains_recipes_are_talked_of_only_where_they_are_wanted_and_not_served(
    wanted: Science, domain: Domain | None, examination: Examination
) -> None:
    assert data_warnings(wanted, domain, examination) == ()


def finding(message: str = "It loops") -> dict[str, str]:
    return {"path": "/evaluation/custom_metrics/0", "code": "custom_code_failed", "message": message}


def warning(text: str = "Never met") -> dict[str, str]:
    return {"path": "/success_criteria", "code": "unreachable", "message": text, "suggestion": "Lower it"}


def test_a_workers_answer_is_read_as_it_stands() -> None:
    found = read_findings({"problems": [finding()], "warnings": [warning()], "further": 1})
    assert [each.message for each in found.problems] == ["It loops"]
    assert [each.message for each in found.warnings] == ["Never met"]


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
def test_an_answer_that_is_no_list_of_findings_is_refused_and_nothing_of_it_quoted(answer: dict[str, Any]) -> None:
    with pytest.raises(UnreadableFindings) as refused:
        read_findings(answer)
    assert "canary" not in str(refused.value)
    assert refused.value.__cause__ is None


def test_as_many_findings_as_are_taken_are_read() -> None:
    found = read_findings({"problems": [finding()] * 150, "warnings": [warning()] * 50})
    assert (len(found.problems), len(found.warnings)) == (150, 50)

from decimal import Decimal
from typing import Any

import pytest
from pydantic import ValidationError

from aex_models.audiences import project_event_data
from aex_models.canonical import canonical_bytes
from aex_models.evaluation import Evaluation
from aex_models.governance import Party
from aex_models.work import CheckedWork, EvaluationBlob, Problem, Work, WorkStatus, WorkSubmission
from aex_work_publisher.rules.publication import (
    build_award,
    build_awarded_event,
    build_evaluation_blob,
    build_submitted_event,
    build_work_record,
    rebuild_submission_body,
    with_secrets,
)
from aex_work_publisher.rules.records import StoredCheck, WorkRecord
from tests.services.work_publisher.samples import CANARIES, CONTRACT_ID, NOW, REF, WORK_ID, record, submission

DATA_DIGEST = "d" * 64
SCIENCE = {
    "question": "How fit?",
    "domain": "bioinformatics/DMS",
    "expected_outcome": {"mean": "canaryeleven"},
    "statistics": [
        {"name": "mean_fitness", "stat": "mean", "column": "mut_score"},
        {"name": "slope", "stat": "slope", "columns": ["x", "y"], "where": [{"column": "x", "op": "gt", "value": 0}]},
        {"name": "p90", "stat": "quantile(0.9)", "column": "mut_score"},
    ],
    "output_constraints": {"mean_fitness": {"min": -5}},
    "data": [{"name": "scores.csv", "sha256": DATA_DIGEST}],
}
CUSTOM = {"custom_metrics": [{"name": "mine", "code": "def evaluate(i, o, m): return 1"}]}


def secrets(**changes: Any) -> tuple[WorkSubmission, EvaluationBlob]:
    posted = WorkSubmission.model_validate(submission(**changes))
    blob = build_evaluation_blob(posted, lambda: "5" * 64)
    assert blob is not None
    return posted, blob


QUERY = {"tables": {"t": {"columns": {"a": "INTEGER"}}}, "expected": {"query": "SELECT a FROM t"}}


@pytest.mark.parametrize("evaluation", [CUSTOM, {"sql": QUERY}, {"named": {"x": {"sql": QUERY}}}])
def test_work_is_open_unless_it_has_code_of_its_own(evaluation: dict[str, Any]) -> None:
    assert record().status is WorkStatus.OPEN
    assert record(evaluation={"sql": {**QUERY, "expected": {"rows": [[1]]}}}).status is WorkStatus.OPEN
    work = record(evaluation=evaluation)
    assert work.status is WorkStatus.CHECKING
    assert build_submitted_event(work).custom_metrics


def test_record_has_no_secrets() -> None:
    kept = canonical_bytes(record(science={"expected_outcome": "canaryeleven"}))
    assert b"canary" not in kept
    assert b"A long text." in kept


def test_record_has_the_demands_of_science() -> None:
    kept = record(science=SCIENCE).work.science
    assert kept is not None
    assert (kept.question, kept.statistics[0].name) == ("How fit?", "mean_fitness")
    assert [(each.name, each.sha256) for each in kept.data] == [("scores.csv", None)]
    assert record().work.science is None


def test_a_record_refuses_to_hold_secrets() -> None:
    work = record().work
    for secret in (
        {"evaluation": Evaluation(reference="canary")},
        {"science": {"expected_outcome": "canary"}},
        {"science": {"expected_outcome": False}},
        {"science": {"data": [{"name": "scores.csv", "sha256": "a" * 64}]}},
    ):
        with pytest.raises(ValidationError):
            WorkRecord(work=Work.model_validate({**work.model_dump(), **secret}), consumer=Party(id="acme"))


def test_all_secrets_of_a_submission_go_into_the_blob() -> None:
    for evaluation in (CANARIES, None):
        posted, blob = secrets(evaluation=evaluation, science=SCIENCE)
        assert blob.science is not None
        assert (blob.evaluation, blob.science) == (posted.evaluation, posted.science)
        assert blob.science.expected_outcome == {"mean": "canaryeleven"}


def test_award_has_the_demands_of_science_without_secrets() -> None:
    work = record(WorkStatus.OPEN, science=SCIENCE)
    award = build_award(work, CONTRACT_ID, "bot", Decimal(1), Decimal(0), NOW)
    carried = canonical_bytes(project_event_data(build_awarded_event(work, award)))
    assert b"mean_fitness" in carried
    assert b"canary" not in carried
    assert DATA_DIGEST.encode() not in carried


def test_work_becomes_its_submission() -> None:
    posted, blob = secrets(science=SCIENCE)
    work = with_secrets(record(science=SCIENCE), blob)
    assert WorkSubmission.model_validate(rebuild_submission_body(work)) == posted


def test_findings_of_the_check_are_visible_with_the_secrets() -> None:
    _, blob = secrets(evaluation=CUSTOM)
    problem = Problem(path="/evaluation/custom_metrics/0", code="custom_code_failed", message="It never returns")
    checked = record(evaluation=CUSTOM).model_copy(update={"check": StoredCheck(problems=(problem,))})
    printed = with_secrets(checked, blob)
    assert isinstance(printed, CheckedWork)
    assert (printed.problems, printed.warnings, printed.evaluation) == ((problem,), (), blob.evaluation)
    assert type(with_secrets(record(evaluation=CUSTOM), blob)) is Work


def test_input_and_criteria_are_stored_beside_the_secrets() -> None:
    posted, blob = secrets()
    assert (blob.input, blob.success_criteria) == (posted.input, posted.success_criteria)


@pytest.mark.parametrize(
    "changes",
    [{"evaluation": {"required_keywords": ["a"]}}, {"evaluation": {"reference": "a"}, "success_criteria": None}],
)
def test_blob_of_an_untried_work_has_the_secrets_only(changes: dict[str, Any]) -> None:
    _, blob = secrets(**changes)
    assert (blob.input, blob.success_criteria) == ({}, None)


def test_a_submission_without_secrets_needs_no_blob() -> None:
    assert build_evaluation_blob(WorkSubmission.model_validate(submission(evaluation=None)), lambda: "5" * 64) is None


def test_the_event_reports_what_verification_can_prepare() -> None:
    printed = build_submitted_event(record())
    assert printed.model_dump() == {
        "work_id": WORK_ID,
        "has_cpa": True,
        "consumer_id": "acme",
        "domain": "general",
        "evaluation": REF.model_dump(),
        "custom_metrics": False,
    }
    assert not build_submitted_event(record(success_criteria=None)).has_cpa


def test_every_field_of_a_submission_arrives_in_the_work() -> None:
    posted = WorkSubmission.model_validate(
        submission(domain="bio/dms", verification={"max_attempts": 5, "deadline_s": 60, "feedback": "full"})
    )
    work = build_work_record(posted, WORK_ID, Party(id="acme"), None, NOW).work
    open_fields = set(WorkSubmission.model_fields) - {"evaluation", "science"}
    assert {name: getattr(work, name) for name in open_fields} == {name: getattr(posted, name) for name in open_fields}

from decimal import Decimal
from typing import Any

import pytest
from pydantic import ValidationError

from aex_models.audiences import project_event
from aex_models.canonical import canonical_bytes
from aex_models.governance import Party
from aex_models.work import CheckedWork, Evaluation, Problem, Work, WorkStatus, WorkSubmission
from aex_work_publisher.rules.awarding import award_of, awarded_contract
from aex_work_publisher.rules.publication import published, resubmission, secrets_of, submitted_event, whole
from aex_work_publisher.rules.records import WorkCheck, WorkRecord
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


def test_a_work_is_open_at_once() -> None:
    assert record().status is WorkStatus.OPEN


def test_a_work_with_custom_code_is_checked_first() -> None:
    work = record(evaluation=CUSTOM)
    assert work.status is WorkStatus.CHECKING
    assert submitted_event(work).custom_metrics


def test_what_is_kept_of_a_work_holds_none_of_its_secrets() -> None:
    kept = canonical_bytes(record(science={"expected_outcome": "canaryeleven"}))
    assert b"canary" not in kept
    assert b"A long text." in kept


def test_what_is_kept_says_what_science_demands() -> None:
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
        wanted = WorkSubmission.model_validate(submission(evaluation=evaluation, science=SCIENCE))
        secrets = secrets_of(wanted, lambda: "5" * 64)
        assert secrets is not None
        assert secrets.science is not None
        assert (secrets.evaluation, secrets.science) == (wanted.evaluation, wanted.science)
        assert secrets.science.expected_outcome == {"mean": "canaryeleven"}


def test_the_award_tells_what_science_demands_and_none_of_its_secrets() -> None:
    work = record(WorkStatus.OPEN, science=SCIENCE)
    award = award_of(work, CONTRACT_ID, "bot", Decimal(1), Decimal(0), NOW)
    carried = canonical_bytes(project_event(awarded_contract(work, award)))
    assert b"mean_fitness" in carried
    assert b"canary" not in carried
    assert DATA_DIGEST.encode() not in carried


def test_a_work_goes_into_the_same_submission_that_it_came_from() -> None:
    wanted = WorkSubmission.model_validate(submission(science=SCIENCE))
    secrets = secrets_of(wanted, lambda: "5" * 64)
    assert secrets is not None
    work = whole(record(science=SCIENCE), secrets)
    assert WorkSubmission.model_validate(resubmission(work)) == wanted


def test_what_was_found_when_it_was_tried_is_told_with_the_whole_work() -> None:
    wanted = WorkSubmission.model_validate(submission(evaluation=CUSTOM))
    secrets = secrets_of(wanted, lambda: "5" * 64)
    assert secrets is not None
    problem = Problem(path="/evaluation/custom_metrics/0", code="custom_code_failed", message="It never returns")
    told = whole(record(evaluation=CUSTOM).model_copy(update={"check": WorkCheck(problems=(problem,))}), secrets)
    assert isinstance(told, CheckedWork)
    assert (told.problems, told.warnings, told.evaluation) == ((problem,), (), secrets.evaluation)
    assert type(whole(record(evaluation=CUSTOM), secrets)) is Work


def test_what_verification_tries_lies_beside_the_secrets() -> None:
    wanted = WorkSubmission.model_validate(submission())
    secrets = secrets_of(wanted, lambda: "5" * 64)
    assert secrets is not None
    assert (secrets.input, secrets.success_criteria) == (wanted.input, wanted.success_criteria)


@pytest.mark.parametrize(
    "changes",
    [{"evaluation": {"required_keywords": ["a"]}}, {"evaluation": {"reference": "a"}, "success_criteria": None}],
)
def test_of_a_work_with_nothing_to_try_the_blob_holds_the_secrets_alone(changes: dict[str, Any]) -> None:
    secrets = secrets_of(WorkSubmission.model_validate(submission(**changes)), lambda: "5" * 64)
    assert secrets is not None
    assert (secrets.input, secrets.success_criteria) == ({}, None)


def test_a_submission_without_secrets_needs_no_blob() -> None:
    assert secrets_of(WorkSubmission.model_validate(submission(evaluation=None)), lambda: "5" * 64) is None


def test_the_event_tells_what_verification_can_prepare() -> None:
    told = submitted_event(record())
    assert told.model_dump() == {
        "work_id": WORK_ID,
        "has_cpa": True,
        "consumer_id": "acme",
        "domain": "general",
        "evaluation": REF.model_dump(),
        "custom_metrics": False,
    }
    assert not submitted_event(record(success_criteria=None)).has_cpa


def test_every_field_of_a_submission_arrives_in_the_work() -> None:
    wanted = WorkSubmission.model_validate(
        submission(domain="bio/dms", verification={"max_attempts": 5, "deadline_s": 60, "feedback": "full"})
    )
    work = published(wanted, WORK_ID, Party(id="acme"), None, NOW).work
    open_fields = set(WorkSubmission.model_fields) - {"evaluation", "science"}
    assert {name: getattr(work, name) for name in open_fields} == {name: getattr(wanted, name) for name in open_fields}

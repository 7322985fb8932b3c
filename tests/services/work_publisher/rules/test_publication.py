from typing import Any

import pytest
from pydantic import ValidationError

from aex_models.canonical import canonical_bytes
from aex_models.governance import Party
from aex_models.work import Evaluation, Work, WorkStatus, WorkSubmission
from aex_work_publisher.rules.publication import published, secrets_of, submitted_event
from aex_work_publisher.rules.records import WorkRecord
from tests.services.work_publisher.samples import NOW, REF, WORK_ID, record, submission

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


def test_a_record_refuses_to_hold_secrets() -> None:
    work = record().work
    for secret in ({"evaluation": Evaluation(reference="canary")}, {"science": {"expected_outcome": "canary"}}):
        with pytest.raises(ValidationError):
            WorkRecord(work=Work.model_validate({**work.model_dump(), **secret}), consumer=Party(id="acme"))


def test_all_secrets_of_a_submission_go_into_the_blob() -> None:
    wanted = WorkSubmission.model_validate(submission(science={"expected_outcome": "canaryeleven"}))
    secrets = secrets_of(wanted, "5" * 64)
    assert secrets is not None
    assert (secrets.evaluation, secrets.science) == (wanted.evaluation, wanted.science)


def test_what_verification_tries_lies_beside_the_secrets() -> None:
    wanted = WorkSubmission.model_validate(submission())
    secrets = secrets_of(wanted, "5" * 64)
    assert secrets is not None
    assert (secrets.input, secrets.success_criteria) == (wanted.input, wanted.success_criteria)


@pytest.mark.parametrize(
    "changes",
    [{"evaluation": {"required_keywords": ["a"]}}, {"evaluation": {"reference": "a"}, "success_criteria": None}],
)
def test_of_a_work_with_nothing_to_try_the_blob_holds_the_secrets_alone(changes: dict[str, Any]) -> None:
    secrets = secrets_of(WorkSubmission.model_validate(submission(**changes)), "5" * 64)
    assert secrets is not None
    assert (secrets.input, secrets.success_criteria) == ({}, None)


def test_a_submission_without_secrets_needs_no_blob() -> None:
    assert secrets_of(WorkSubmission.model_validate(submission(evaluation=None)), "5" * 64) is None


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

import json
from typing import Any

from hypothesis import given

from aex_models.canonical import canonical_bytes
from aex_models.work import WorkSubmission
from aex_outcomes.submission import check_submission
from aex_outcomes.submission.verify_request import check_verify_request
from tests.fuzz.effort import effort, soon
from tests.fuzz.submissions import CATALOG, EVALUATION, SUBMISSIONS
from tests.fuzz.values import INVALID, assert_reported, is_expected, is_there, mutated

SECRETS = (EVALUATION["reference"], "custom_metrics[0]", "def evaluate")


def assert_answered(body: Any) -> None:
    checked = soon(check_submission, body, CATALOG, has_reviewer=True)
    assert (checked.submission is None) is bool(checked.problems)
    assert_reported(checked.problems, body)
    statement = str([each.message for each in checked.problems])
    assert not any(secret in statement for secret in SECRETS)
    if checked.submission is None:
        inside = [each for each in checked.problems if f"{each.path}/".startswith("/success_criteria/")]
        assert not (inside and checked.only_shape)
        return
    assert checked.quote is not None
    assert checked.quote.minimum.total <= checked.quote.maximum.total
    for each in checked.warnings:
        json.dumps(each.model_dump(mode="json")).encode()
        assert is_there(body, each.path) or is_expected(body, each.path), each
        assert each.message
        assert each.suggestion
    written = canonical_bytes(checked.submission)
    read = WorkSubmission.model_validate_json(written)
    assert read == checked.submission
    assert canonical_bytes(read) == written


@effort()
@given(SUBMISSIONS)
def test_valid_work_is_accepted(body: Any) -> None:
    checked = soon(check_submission, body, CATALOG, has_reviewer=True)
    assert checked.problems == ()
    assert_answered(body)


@effort()
@given(mutated(SUBMISSIONS) | mutated(mutated(SUBMISSIONS)))
def test_altered_work_is_accepted_or_refused_with_pointers(body: Any) -> None:
    assert_answered(body)


@effort()
@given(mutated(SUBMISSIONS, INVALID))
def test_values_outside_json_are_refused_or_accepted(body: Any) -> None:
    checked = soon(check_submission, body, CATALOG, has_reviewer=True)
    assert (checked.submission is None) is bool(checked.problems)


@effort()
@given(mutated(SUBMISSIONS.map(lambda body: {**body, "output": {"text": "the cat"}, "artifacts": [], "data": []})))
def test_altered_verify_request_is_accepted_or_refused(body: Any) -> None:
    checked = soon(check_verify_request, body, CATALOG, has_reviewer=True)
    assert (checked.request is None) is bool(checked.problems)
    assert_reported(checked.problems, body)

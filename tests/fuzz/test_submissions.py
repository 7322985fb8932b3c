"""A work, good or with one thing wrong, is taken or answered: with places that it has, soon, and never by an error."""

import json
from typing import Any

from hypothesis import given

from aex_models.canonical import canonical_bytes
from aex_models.work import WorkSubmission
from aex_outcomes.submission import check_submission
from aex_outcomes.submission.verify_request import check_verify_request
from tests.fuzz.effort import effort, soon
from tests.fuzz.problems import assert_told, is_there, is_wanted
from tests.fuzz.submissions import CATALOG, EVALUATION, SUBMISSIONS
from tests.fuzz.values import ODD, mutated

SECRETS = (EVALUATION["reference"], "custom_metrics[0]", "def evaluate")


def assert_answered(body: Any) -> None:
    checked = soon(check_submission, body, CATALOG, reviewer=True)
    assert (checked.submission is None) is bool(checked.problems)
    assert_told(checked.problems, body)
    said = str([each.message for each in checked.problems])
    assert not any(secret in said for secret in SECRETS)
    if checked.submission is None:
        inside = [each for each in checked.problems if f"{each.path}/".startswith("/success_criteria/")]
        assert not (inside and checked.only_shape)
        return
    assert checked.quote is not None
    assert checked.quote.minimum.total <= checked.quote.maximum.total
    assert_told_of_warnings(checked.warnings, body)
    written = canonical_bytes(checked.submission)
    read = WorkSubmission.model_validate_json(written)
    assert read == checked.submission
    assert canonical_bytes(read) == written


def assert_told_of_warnings(warnings: Any, body: Any) -> None:
    for each in warnings:
        json.dumps(each.model_dump(mode="json")).encode()
        assert is_there(body, each.path) or is_wanted(body, each.path), each
        assert each.message
        assert each.suggestion


@effort()
@given(SUBMISSIONS)
def test_what_the_specification_allows_is_taken(body: Any) -> None:
    checked = soon(check_submission, body, CATALOG, reviewer=True)
    assert checked.problems == ()
    assert_answered(body)


@effort()
@given(mutated(SUBMISSIONS))
def test_a_work_with_one_thing_wrong_is_taken_or_answered_with_its_places(body: Any) -> None:
    assert_answered(body)


@effort()
@given(mutated(mutated(SUBMISSIONS)))
def test_so_is_one_with_two(body: Any) -> None:
    assert_answered(body)


@effort()
@given(mutated(SUBMISSIONS, ODD))
def test_what_no_json_reader_would_pass_on_is_answered_too(body: Any) -> None:
    checked = soon(check_submission, body, CATALOG, reviewer=True)
    assert (checked.submission is None) is bool(checked.problems)


@effort()
@given(mutated(SUBMISSIONS.map(lambda body: {**body, "output": {"text": "the cat"}, "artifacts": [], "data": []})))
def test_a_trial_verification_is_answered_in_the_same_way(body: Any) -> None:
    checked = soon(check_verify_request, body, CATALOG, reviewer=True)
    assert (checked.request is None) is bool(checked.problems)
    assert_told(checked.problems, body)

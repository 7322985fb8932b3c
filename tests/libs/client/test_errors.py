"""Answers that are no success, and when a call is repeated: pure decisions."""

import json
from datetime import UTC, datetime, timedelta

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from aex_client import NO_RETRIES, ProblemError, RetryPolicy
from aex_client.errors import (
    Conflict,
    Forbidden,
    InvalidRequest,
    NotFound,
    RateLimited,
    TooLarge,
    Unauthenticated,
    Unavailable,
    Unprocessable,
    problem_of,
    retry_after,
)

NOW = datetime(2025, 3, 1, 12, tzinfo=UTC)
KINDS = (
    InvalidRequest,
    Unauthenticated,
    Forbidden,
    NotFound,
    Conflict,
    TooLarge,
    Unprocessable,
    RateLimited,
    Unavailable,
)


@pytest.mark.parametrize("kind", KINDS)
def test_each_status_has_its_exception(kind: type[ProblemError]) -> None:
    status = kind.STATUS  # type: ignore[attr-defined]
    assert type(problem_of(status, {}, b"{}")) is kind


def test_a_problem_document_is_told_in_full() -> None:
    document = {
        "type": "urn:aex:problem:invalid_criteria",
        "title": "Bad Request",
        "status": 400,
        "detail": "2 problems",
        "code": "invalid_criteria",
        "errors": [
            {"path": "/success_criteria/criteria/0", "code": "unknown_metric", "message": "Unknown metric: x"},
            {"path": "", "code": "odd", "message": "Odd", "of_next_year": 1},
        ],
        "request_id": "req_7",
        "of_next_year": 1,
    }
    headers = httpx.Headers({"Retry-After": "3", "X-Request-Id": "req_8"})
    problem = problem_of(400, headers, json.dumps(document).encode())
    assert isinstance(problem, InvalidRequest)
    assert (problem.status, problem.code, problem.detail, problem.request_id) == (
        400,
        "invalid_criteria",
        "2 problems",
        "req_7",
    )
    assert [fault.code for fault in problem.errors] == ["unknown_metric", "odd"]
    assert problem.retry_after_s == 3
    assert "/success_criteria/criteria/0: Unknown metric: x [unknown_metric]" in str(problem)


@given(
    st.integers(300, 599), st.binary(max_size=50) | st.sampled_from([b"[]", b"null", b'{"code":5}', b'{"errors":1}'])
)
def test_whatever_a_proxy_answers_is_a_problem(status: int, content: bytes) -> None:
    problem = problem_of(status, httpx.Headers({"x-request-id": "req_1"}), content)
    assert (problem.status, problem.request_id) == (status, "req_1")
    assert problem.code


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("0", 0.0),
        (" 12 ", 12.0),
        ("Sat, 01 Mar 2025 12:00:30 GMT", 30.0),
        ("Sat, 01 Mar 2025 11:00:00 GMT", 0.0),
        ("Sat, 01 Mar 2025 12:00:30", None),
        ("soon", None),
        ("-5", None),
        ("²", None),
        ("1.5", None),
    ],
)
def test_retry_after_is_read_as_seconds_or_as_a_date(header: str | None, seconds: float | None) -> None:
    assert retry_after(header, NOW) == seconds


def _failure(asked: float | None) -> ProblemError:
    headers = {} if asked is None else {"retry-after": str(int(asked))}
    return problem_of(503, headers, b"{}", NOW + timedelta())


@given(
    st.builds(
        RetryPolicy,
        attempts=st.integers(1, 10),
        first_pause_s=st.floats(0.001, 10),
        longest_pause_s=st.floats(0.001, 60),
        longest_wait_s=st.floats(0, 100),
    ),
    st.integers(1, 100),
    st.none() | st.integers(0, 200).map(float),
    st.floats(0, 1, exclude_max=True),
)
def test_pauses_are_bounded_and_never_shorter_than_asked(
    policy: RetryPolicy, attempt: int, asked: float | None, jitter: float
) -> None:
    pause = policy.pause_s(attempt, _failure(asked), jitter)
    if attempt >= policy.attempts or (asked or 0) > policy.longest_wait_s:
        assert pause is None
    else:
        assert pause is not None
        assert (asked or 0) <= pause <= (asked or 0) + policy.longest_pause_s


def test_pauses_grow_and_spread() -> None:
    policy = RetryPolicy(attempts=9, first_pause_s=1, longest_pause_s=5)
    assert [policy.pause_s(attempt, _failure(None), 0.0) for attempt in range(1, 6)] == [0.5, 1, 2, 2.5, 2.5]
    assert policy.pause_s(1, _failure(None), 0.5) == 0.75
    assert policy.pause_s(1, _failure(4), 0.5) == 4.5
    assert NO_RETRIES.pause_s(1, _failure(None), 0.0) is None

"""Answers that are no success, and when a call is repeated: pure decisions."""

import json
from datetime import UTC, datetime

import httpx
from hypothesis import given
from hypothesis import strategies as st

from aex_client import NO_RETRIES, ProblemError, RetryPolicy, errors
from aex_client.errors import InvalidRequest, parse_problem, parse_retry_after_s

NOW = datetime(2025, 3, 1, 12, tzinfo=UTC)
KINDS = {
    400: errors.InvalidRequest,
    401: errors.Unauthenticated,
    403: errors.Forbidden,
    404: errors.NotFound,
    409: errors.Conflict,
    413: errors.TooLarge,
    422: errors.Unprocessable,
    429: errors.RateLimited,
    503: errors.Unavailable,
    418: ProblemError,
}


def test_status_has_its_exception() -> None:
    assert {status: type(parse_problem(status, {}, b"{}")) for status in KINDS} == KINDS


def test_problem_document_is_read_completely() -> None:
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
        "used": 90,
        "of_next_year": {"b": 1},
    }
    headers = httpx.Headers({"Retry-After": "3", "X-Request-Id": "req_8"})
    problem = parse_problem(400, headers, json.dumps(document).encode())
    assert isinstance(problem, InvalidRequest)
    found = (problem.status, problem.code, problem.detail, problem.request_id)
    assert found == (400, "invalid_criteria", "2 problems", "req_7")
    assert [fault.code for fault in problem.errors] == ["unknown_metric", "odd"]
    assert problem.retry_after_s == 3
    assert problem.extensions == {"used": 90, "of_next_year": {"b": 1}}
    assert "/success_criteria/criteria/0: Unknown metric: x [unknown_metric]" in str(problem)


@given(
    st.integers(300, 599), st.binary(max_size=50) | st.sampled_from([b"[]", b"null", b'{"code":5}', b'{"errors":1}'])
)
def test_any_answer_of_a_proxy_is_a_problem(status: int, content: bytes) -> None:
    problem = parse_problem(status, httpx.Headers({"x-request-id": "req_1"}), content)
    assert (problem.status, problem.request_id) == (status, "req_1")
    assert problem.code


def test_retry_after_is_seconds_or_a_date() -> None:
    dates = {"Sat, 01 Mar 2025 12:00:30 GMT": 30.0, "Sat, 01 Mar 2025 11:00:00 GMT": 0.0}
    unreadable = dict.fromkeys(("Sat, 01 Mar 2025 12:00:30", "soon", "-5", "²", "1.5", None))
    expected = {"0": 0.0, " 12 ": 12.0} | dates | unreadable
    assert {header: parse_retry_after_s(header, NOW) for header in expected} == expected


def _failure(requested: float | None) -> ProblemError:
    headers = {} if requested is None else {"retry-after": str(int(requested))}
    return parse_problem(503, headers, b"{}", NOW)


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
def test_pauses_are_bounded_by_policy_and_retry_after(
    policy: RetryPolicy, attempt: int, requested: float | None, jitter: float
) -> None:
    pause = policy.pause_s(attempt, _failure(requested), jitter)
    if attempt >= policy.attempts or (requested or 0) > policy.longest_wait_s:
        assert pause is None
    else:
        assert pause is not None
        assert (requested or 0) <= pause <= (requested or 0) + policy.longest_pause_s


def test_pauses_double_with_jitter() -> None:
    policy = RetryPolicy(attempts=9, first_pause_s=1, longest_pause_s=5)
    assert [policy.pause_s(attempt, _failure(None), 0.0) for attempt in range(1, 6)] == [0.5, 1, 2, 2.5, 2.5]
    assert policy.pause_s(1, _failure(None), 0.5) == 0.75
    assert policy.pause_s(1, _failure(4), 0.5) == 4.5
    assert NO_RETRIES.pause_s(1, _failure(None), 0.0) is None

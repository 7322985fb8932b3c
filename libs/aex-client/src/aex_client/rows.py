"""The state of reading an export row by row, without input and output."""

from typing import Generic, TypeVar

import httpx
import structlog

from aex_client.call import Call
from aex_client.call_attempts import CallPolicy, build_connection_failed, parse_answer
from aex_client.errors import AexError, parse_problem

T = TypeVar("T")
_MEDIA_TYPE = "application/x-ndjson"
_log = structlog.get_logger(__name__)


class RowStreamState(Generic[T]):
    """The progress of reading the rows of one export: attempts, the next pause and the end.

    A request is repeated only before the first row, because a later repetition would deliver rows twice.
    `is_finished`: all rows were read; the client sets it. `pause_s`: seconds to wait before the next request.
    """

    def __init__(self, policy: CallPolicy, call: Call[T]) -> None:
        self._policy, self._call = policy, call
        self._attempt = 0
        self._began = False
        self.is_finished = False
        self.pause_s = 0.0
        """Seconds to wait before the next request."""

    def count_attempt_and_build_request(self, token: str) -> httpx.Request:
        """Count a further attempt and return its request."""
        self._attempt += 1
        headers = {"Accept": _MEDIA_TYPE} | ({"Content-Type": _MEDIA_TYPE} if self._call.body is not None else {})
        return self._policy.build_request(self._call, token, self._policy.timeout_s + self._call.wait_s, headers)

    def plan_retry_after_refusal(self, response: httpx.Response) -> None:
        """Set the pause before a retry of a refused request. Raises `ProblemError` if no retry may follow."""
        self._plan_retry(parse_problem(response.status_code, response.headers, response.content))

    def parse_row(self, line: str) -> T:
        """Return the row of a line; from then on no retry is allowed. Raises `AnswerNotUnderstood`."""
        self._began = True
        return parse_answer(self._call, line.encode(), "fields of a row")

    def plan_retry_after_failure(self, error: httpx.RequestError) -> None:
        """Set the pause before a retry of a failed request.

        Raises `ConnectionFailed` after the first row, or if no retry may follow.
        """
        failure = build_connection_failed(self._call, error)
        if self._began:
            raise failure
        self._plan_retry(failure)

    def _plan_retry(self, error: AexError) -> None:
        self.pause_s = self._policy.compute_pause_s_or_raise(self._attempt, error)
        _log.info(
            "aex_rows_retried",
            path=self._call.path,
            attempt=self._attempt,
            pause_s=round(self.pause_s, 3),
            reason=getattr(error, "code", type(error).__name__),
        )

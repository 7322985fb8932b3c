"""A long answer, line by line: what to ask, what a line means. No input, no output: both clients carry it."""

from typing import Generic, TypeVar

import httpx
import structlog
from pydantic import ValidationError

from aex_client.call import Call
from aex_client.errors import AexError, AnswerNotUnderstood, problem_of
from aex_client.exchange import CONNECT_S, Manner, unanswered

T = TypeVar("T")
_log = structlog.get_logger(__name__)


class Rows(Generic[T]):
    """The rows of one answer. It is asked for again while none has come; one that breaks off later is an error.

    For whoever adds rows up would count those twice that come a second time.
    """

    def __init__(self, manner: Manner, call: Call[T]) -> None:
        self._manner, self._call = manner, call
        self._asked = f"{call.method} {call.path}"
        self._attempt = 0
        self._began = False
        self.over = False
        """Whether all rows were read."""
        self.pause_s = 0.0
        """How long to wait before asking again."""

    def request(self, token: str) -> httpx.Request:
        """The request to send next."""
        self._attempt += 1
        headers = {"Authorization": f"Bearer {token}", "Accept": "application/x-ndjson", "User-Agent": "aex-client"}
        timeout = httpx.Timeout(self._manner.timeout_s, connect=CONNECT_S)
        url = self._manner.endpoints.url(self._call.service, self._call.path)
        query = self._call.query
        return httpx.Request(
            self._call.method, url, params=query, headers=headers, extensions={"timeout": timeout.as_dict()}
        )

    def refused(self, response: httpx.Response) -> None:
        """An answer without rows, once it was read: to be tried again. Raises `ProblemError`."""
        self._again(problem_of(response.status_code, response.headers, response.content))

    def row(self, line: str) -> T:
        """The row that a line holds. Raises `AnswerNotUnderstood`."""
        self._began = True
        try:
            return self._call.read(line.encode())
        except ValidationError as error:
            reason = f"{self._asked}: {error.error_count()} fields of a row differ from what is known"
            raise AnswerNotUnderstood(reason) from error

    def broken(self, error: httpx.RequestError) -> None:
        """No answer: to be tried again. Half of one: raises `ConnectionFailed`, as does the last try."""
        failure = unanswered(self._asked, error)
        if self._began:
            raise failure
        self._again(failure)

    def _again(self, error: AexError) -> None:
        pause_s = self._manner.retries.pause_s(self._attempt, error, self._manner.jitter())
        if pause_s is None:
            raise error
        self.pause_s = pause_s
        _log.info(
            "aex_rows_asked_again",
            path=self._call.path,
            attempt=self._attempt,
            pause_s=round(pause_s, 3),
            reason=getattr(error, "code", type(error).__name__),
        )

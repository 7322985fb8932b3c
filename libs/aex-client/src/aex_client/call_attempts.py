"""Requests, answers and retries of a call, without input and output: the clients send the requests."""

import random
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import httpx
import structlog
from pydantic import ValidationError

from aex_client.call import Call
from aex_client.endpoints import Endpoints
from aex_client.errors import AexError, AnswerNotUnderstood, ConnectionFailed, parse_problem


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """The number of attempts at a call and the pauses between them.

    A call is sent at most `attempts` times. The pause starts at `first_pause_s` and doubles up to `longest_pause_s`.
    Jitter shortens it by up to half, but never below the service's `Retry-After`. A `Retry-After` above
    `longest_wait_s` ends the call: it raises the service's error.
    """

    attempts: int = 5
    first_pause_s: float = 0.2
    longest_pause_s: float = 5.0
    longest_wait_s: float = 30.0

    def pause_s(self, attempt: int, error: AexError, jitter: float) -> float | None:
        """Return the seconds to wait after attempt number `attempt` (from 1); None if no retry may follow.

        `jitter` is a number in [0, 1) that varies the pause.
        """
        if not error.retryable or attempt >= self.attempts:
            return None
        retry_after_s = error.retry_after_s or 0.0
        if retry_after_s > self.longest_wait_s:
            return None
        backoff = min(self.first_pause_s * 2.0 ** min(attempt - 1, 30), self.longest_pause_s)
        return retry_after_s + backoff * jitter if retry_after_s else backoff * (1 + jitter) / 2


FIVE_ATTEMPTS = RetryPolicy()
"""The default policy of clients."""

NO_RETRIES = RetryPolicy(attempts=1)
"""The policy of one attempt for each call."""


T = TypeVar("T")
_log = structlog.get_logger(__name__)
_random = random.SystemRandom()
PauseSeconds = float
"""Seconds to wait before the next attempt."""
CONNECT_S = 5.0
_PERMANENT = (httpx.UnsupportedProtocol, httpx.LocalProtocolError)
"""Errors of the request or URL itself, after which a retry cannot succeed."""


def new_idempotency_key() -> str:
    """Return a new random idempotency key."""
    return uuid.uuid4().hex


def random_jitter() -> float:
    """Return a random number in [0, 1), which spreads the retries of many clients over time."""
    return _random.random()


@dataclass(frozen=True, slots=True)
class CallPolicy:
    """The settings of all calls of a client: URLs, retries, time limit, sources of jitter and keys."""

    endpoints: Endpoints
    retries: RetryPolicy
    timeout_s: float
    jitter: Callable[[], float]
    new_key: Callable[[], str]

    def build_request(self, call: Call[Any], token: str, timeout_s: float, headers: Mapping[str, str]) -> httpx.Request:
        """Return the HTTP request of a call, with the bearer token and further headers."""
        return httpx.Request(
            call.method,
            self.endpoints.url(call.service, call.path),
            params=call.query,
            headers={"Authorization": f"Bearer {token}", "User-Agent": "aex-client", **headers},
            content=call.body,
            extensions={"timeout": httpx.Timeout(timeout_s, connect=CONNECT_S).as_dict()},
        )

    def compute_pause_s_or_raise(self, attempt: int, error: AexError) -> float:
        """Return the seconds to wait after attempt `attempt` (from 1). Raises `error` if no retry may follow."""
        pause_s = self.retries.pause_s(attempt, error, self.jitter())
        if pause_s is None:
            raise error
        return pause_s


@dataclass(frozen=True, slots=True)
class Done(Generic[T]):
    """The result of the attempt that ends a call: its parsed answer."""

    value: T


class CallAttempts(Generic[T]):
    """The attempts at one call until it has an answer. All of them have the same idempotency key."""

    def __init__(self, policy: CallPolicy, call: Call[T]) -> None:
        self._policy = policy
        self._call = call
        self._key = (call.idempotency_key or policy.new_key()) if call.uses_idempotency_key else None
        self._attempt = 0

    def count_attempt_and_build_request(self, token: str) -> httpx.Request:
        """Count a further attempt and return its request."""
        self._attempt += 1
        headers = {"Accept": "application/json"}
        headers |= {"Content-Type": "application/json"} if self._call.body is not None else {}
        headers |= {"Idempotency-Key": self._key} if self._key is not None else {}
        return self._policy.build_request(self._call, token, self._policy.timeout_s + self._call.wait_s, headers)

    def parse_answer_or_plan_retry(self, response: httpx.Response) -> Done[T] | PauseSeconds:
        """Return the parsed answer, or the seconds to wait before the next attempt.

        Raises `ProblemError` for a refusal without a further attempt, `AnswerNotUnderstood` for an unreadable answer.
        """
        if not response.is_success:
            return self._plan_retry(parse_problem(response.status_code, response.headers, response.content))
        return Done(parse_answer(self._call, response.content))

    def plan_retry_after_failure(self, error: httpx.RequestError) -> PauseSeconds:
        """Return the seconds to wait after a request without an answer.

        Raises `ConnectionFailed` if no further attempt may follow.
        """
        return self._plan_retry(build_connection_failed(self._call, error))

    def _plan_retry(self, error: AexError) -> PauseSeconds:
        pause_s = self._policy.compute_pause_s_or_raise(self._attempt, error)
        _log.info(
            "aex_call_retried",
            method=self._call.method,
            path=self._call.path,
            contract_id=next((part for part in self._call.path.split("/") if part.startswith("ctr_")), None),
            attempt=self._attempt,
            pause_s=round(pause_s, 3),
            reason=getattr(error, "code", type(error).__name__),
        )
        return pause_s


def parse_answer(call: Call[T], content: bytes, field_label: str = "fields") -> T:
    """Return the parsed answer of a call. Raises `AnswerNotUnderstood`, which counts the wrong fields.

    `field_label`: the words for these fields in the message.
    """
    try:
        return call.read(content)
    except ValidationError as error:
        reason = f"{call.method} {call.path}: {error.error_count()} {field_label} differ from what is known"
        raise AnswerNotUnderstood(reason) from error


def build_connection_failed(call: Call[Any], error: httpx.RequestError) -> ConnectionFailed:
    """Return the exception for a call without a complete answer, for the caller to raise.

    Its `retryable` is False if a retry cannot succeed, as after an invalid URL.
    """
    failure = ConnectionFailed(f"{call.method} {call.path}: {type(error).__name__}: {error}")
    failure.retryable = isinstance(error, httpx.TransportError) and not isinstance(error, _PERMANENT)
    failure.__cause__ = error
    return failure

"""One call's life: what to send, what an answer means, whether and when to send it again. No input, no output."""

import random
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import httpx
import structlog
from pydantic import ValidationError

from aex_client.call import Call
from aex_client.endpoints import Endpoints
from aex_client.errors import AexError, AnswerNotUnderstood, ConnectionFailed, problem_of
from aex_client.retries import RetryPolicy

T = TypeVar("T")
_log = structlog.get_logger(__name__)
_random = random.SystemRandom()
CONNECT_S = 5.0
_MISTAKES = (httpx.UnsupportedProtocol, httpx.LocalProtocolError)
"""What no repeat mends: the request or the URL itself is wrong."""


def fresh_key() -> str:
    """An idempotency key that nobody has."""
    return uuid.uuid4().hex


def system_jitter() -> float:
    """A number in [0, 1) that spreads repeats."""
    return _random.random()


@dataclass(frozen=True, slots=True)
class Manner:
    """How calls are made: where to, when to repeat, how long to wait, and where jitter and keys come from."""

    endpoints: Endpoints
    retries: RetryPolicy
    timeout_s: float
    jitter: Callable[[], float]
    new_key: Callable[[], str]


@dataclass(frozen=True, slots=True)
class Done(Generic[T]):
    """The call has its answer."""

    value: T


@dataclass(frozen=True, slots=True)
class Again:
    """Send the same request again after so many seconds."""

    pause_s: float


class Exchange(Generic[T]):
    """One call from its first request to its end. The idempotency key is the same for all of its requests."""

    def __init__(self, manner: Manner, call: Call[T]) -> None:
        self._manner = manner
        self._call = call
        self._key = (call.idempotency_key or manner.new_key()) if call.once else None
        self._attempt = 0

    def request(self, token: str) -> httpx.Request:
        """The request to send next."""
        self._attempt += 1
        call, manner = self._call, self._manner
        headers = {"Authorization": f"Bearer {token}", "Accept": "application/json", "User-Agent": "aex-client"}
        headers |= {"Content-Type": "application/json"} if call.body is not None else {}
        headers |= {"Idempotency-Key": self._key} if self._key is not None else {}
        timeout = httpx.Timeout(manner.timeout_s + call.wait_s, connect=CONNECT_S)
        return httpx.Request(
            call.method,
            manner.endpoints.url(call.service, call.path),
            params=call.query,
            headers=headers,
            content=call.body,
            extensions={"timeout": timeout.as_dict()},
        )

    def answered(self, response: httpx.Response) -> Done[T] | Again:
        """What an answer means. Raises `ProblemError`, or `AnswerNotUnderstood`."""
        if not response.is_success:
            return self._again(problem_of(response.status_code, response.headers, response.content))
        try:
            return Done(self._call.read(response.content))
        except ValidationError as error:
            reason = f"{self._call.method} {self._call.path}: {error.error_count()} fields differ from what is known"
            raise AnswerNotUnderstood(reason) from error

    def unanswered(self, error: httpx.RequestError) -> Again:
        """What a request without an answer means. Raises `ConnectionFailed`."""
        return self._again(unanswered(f"{self._call.method} {self._call.path}", error))

    def _again(self, error: AexError) -> Again:
        pause_s = self._manner.retries.pause_s(self._attempt, error, self._manner.jitter())
        if pause_s is None:
            raise error
        _log.info(
            "aex_call_repeated",
            method=self._call.method,
            path=self._call.path,
            contract_id=next((part for part in self._call.path.split("/") if part.startswith("ctr_")), None),
            attempt=self._attempt,
            pause_s=round(pause_s, 3),
            reason=getattr(error, "code", type(error).__name__),
        )
        return Again(pause_s)


def unanswered(asked: str, error: httpx.RequestError) -> ConnectionFailed:
    """What was `asked` brought no answer, or half of one."""
    failure = ConnectionFailed(f"{asked}: {type(error).__name__}: {error}")
    failure.retryable = isinstance(error, httpx.TransportError) and not isinstance(error, _MISTAKES)
    failure.__cause__ = error
    return failure

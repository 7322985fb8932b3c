"""HTTP clients of governance and work-publisher, with service tokens, timeouts and the caller's trace."""

import json
import time
from collections.abc import Callable
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import quote

from pydantic import ValidationError

from aex_models.events import ContractAwarded
from aex_models.governance import ValidationDecision, ValidationRequest
from aex_models.numbers import convert_large_integers_to_doubles
from aex_runtime.calls.http_client import HttpClient
from aex_runtime.errors import TemporarilyUnavailable
from aex_runtime.identity.tokens import ServiceTokens
from aex_runtime.measures import Measures
from aex_runtime.tracing.spans import CONTRACT_TRACE, build_span_attributes_of_ids, call_span, record_call_status
from aex_verification.measures import GOVERNANCE_SECONDS, REFUSED, UNAVAILABLE
from aex_verification.ports import FoundAward, GovernanceRefused, GovernanceUnavailable

if TYPE_CHECKING:
    import httpx

FAILURES = 3
"""Consecutive failures that open the circuit. A single one may be a connection that was closed as it was used."""
PAUSE_S = 1.0
"""Seconds from the end of a failed call to the next probe while the circuit is open."""
_RETRYABLE = frozenset({401, 403, 408, 429, 502, 503, 504})
"""Statuses that say nothing about the request. 401 and 403 occur while signing keys are changed."""


class CircuitBreaker:
    """Circuit breaker that allows one probing call at a time while a service does not answer.

    An unavailable service therefore does not block all handlers.
    """

    def __init__(self, call_timeout_s: float, monotonic: Callable[[], float]) -> None:
        """Create a closed circuit.

        A probe whose result is not recorded within `call_timeout_s` no longer blocks the next one.
        """
        self._call_timeout_s, self._monotonic = call_timeout_s, monotonic
        self._failures, self._next_call_at = 0, 0.0

    def try_start_call(self) -> bool:
        """Return whether a call may start now; if so, the caller must record its success or failure.

        While the circuit is open, True also blocks further calls until the result of this one is recorded.
        """
        if self._failures < FAILURES:
            return True
        now = self._monotonic()
        if now < self._next_call_at:
            return False
        self._next_call_at = now + self._call_timeout_s
        return True

    def record_success(self) -> None:
        """Close the circuit, because the service answered with some status."""
        self._failures = 0

    def record_failure(self) -> None:
        """Count a call without an answer; the third in a row opens the circuit."""
        self._failures += 1
        self._next_call_at = self._monotonic() + PAUSE_S


class HttpGovernance:
    """Client of governance's `POST /v1/outcomes/validate`."""

    def __init__(
        self, client: HttpClient, url: str, tokens: ServiceTokens, breaker: CircuitBreaker, measures: Measures
    ) -> None:
        self._client, self._url, self._tokens, self._breaker = client, url, tokens, breaker
        self._measures = measures

    async def validate(self, request: ValidationRequest) -> ValidationDecision:
        """Return governance's decision on an attempt.

        Raises `GovernanceUnavailable`, also while the circuit is open, and `GovernanceRefused` for an answer without a
        readable decision.
        """
        if not self._breaker.try_start_call():
            raise GovernanceUnavailable("not called: the circuit is open")
        started, label = time.perf_counter(), UNAVAILABLE
        try:
            decision = await self._call(request)
            label = decision.action.value
        except GovernanceRefused:
            label = REFUSED
            raise
        finally:
            self._measures.observe(GOVERNANCE_SECONDS, time.perf_counter() - started, label)
        return decision

    async def _call(self, request: ValidationRequest) -> ValidationDecision:
        try:
            with call_span(
                "POST",
                self._url,
                "/v1/outcomes/validate",
                build_span_attributes_of_ids(request.contract_id, request.attempt_id),
            ):
                response = await self._client.request(
                    "POST",
                    f"{self._url}/v1/outcomes/validate",
                    content=json.dumps(
                        convert_large_integers_to_doubles(request.model_dump(mode="json")), allow_nan=False
                    ),
                    headers={**await self._tokens.call_headers("governance"), "Content-Type": "application/json"},
                )
                record_call_status(response.status_code)
        except _call_errors() as error:
            self._breaker.record_failure()
            raise GovernanceUnavailable(type(error).__name__) from error
        self._breaker.record_success()
        return _read_decision(response)


def _read_decision(response: "httpx.Response") -> ValidationDecision:
    if response.status_code in _RETRYABLE:
        raise GovernanceUnavailable(str(response.status_code))
    if response.status_code != HTTPStatus.OK:
        raise GovernanceRefused(str(response.status_code))
    try:
        return ValidationDecision.model_validate_json(response.content, extra="ignore")  # governance may be newer
    except ValidationError as error:
        raise GovernanceRefused("an unreadable decision") from error


class HttpAwards:
    """Client of work-publisher's `GET /v1/awards/{contract_id}`."""

    def __init__(self, client: HttpClient, url: str, tokens: ServiceTokens) -> None:
        self._client, self._url, self._tokens = client, url, tokens

    async def get(self, contract_id: str) -> FoundAward | None:
        """Return the award of a contract; None if there is none. Raises `TemporarilyUnavailable`."""
        try:
            with call_span("GET", self._url, "/v1/awards/{contract_id}", build_span_attributes_of_ids(contract_id)):
                response = await self._client.request(
                    "GET",
                    f"{self._url}/v1/awards/{quote(contract_id, safe='')}",
                    headers=await self._tokens.call_headers("work-publisher"),
                )
                record_call_status(response.status_code)
            if response.status_code == HTTPStatus.NOT_FOUND:
                return None
            response.raise_for_status()
            awarded = ContractAwarded.model_validate_json(response.content, extra="ignore")  # as the event's data
            return FoundAward(awarded, response.headers.get(CONTRACT_TRACE))
        except _call_errors() as error:
            message = "Awards cannot be looked up right now"
            raise TemporarilyUnavailable("work_publisher_unreachable", message) from error


def _call_errors() -> tuple[type[Exception], ...]:
    """Return the exceptions of a call that got no readable answer.

    anyio raises `AttributeError` for a connection that breaks while it is made. `TemporarilyUnavailable` means that no
    token was available.
    """
    import httpx  # noqa: PLC0415 imported by the client, once it is made

    return (httpx.HTTPError, ValidationError, AttributeError, TemporarilyUnavailable)

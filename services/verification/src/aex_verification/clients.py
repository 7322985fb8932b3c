"""The other services, over HTTP with short-lived service tokens, explicit deadlines, and the trace of the caller."""

import json
import time
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import quote

from pydantic import ValidationError

from aex_models.events import ContractAwarded
from aex_models.governance import ValidationDecision, ValidationRequest
from aex_models.numbers import safely_sent
from aex_runtime.errors import TemporarilyUnavailable
from aex_runtime.identity.service_tokens import ServiceTokens
from aex_runtime.measures import UNMEASURED, Measures
from aex_runtime.tracing.calls import CONTRACT_TRACE, calling, on_answer
from aex_runtime.tracing.subjects import about
from aex_verification.calling_out import HttpClient
from aex_verification.measures import GOVERNANCE_SECONDS, REFUSED, UNAVAILABLE
from aex_verification.ports import FoundAward, GovernanceRefused, GovernanceUnavailable
from aex_verification.silence import Silence

if TYPE_CHECKING:
    import httpx

_AWAY = frozenset(
    {
        HTTPStatus.UNAUTHORIZED,  # its keys, or ours, are being changed
        HTTPStatus.FORBIDDEN,
        HTTPStatus.REQUEST_TIMEOUT,
        HTTPStatus.TOO_MANY_REQUESTS,
        HTTPStatus.BAD_GATEWAY,
        HTTPStatus.SERVICE_UNAVAILABLE,
        HTTPStatus.GATEWAY_TIMEOUT,
    }
)
"""Answers that say nothing about the question: it is asked again."""


class HttpGovernance:
    """Governance's `POST /v1/outcomes/validate`."""

    def __init__(
        self,
        client: HttpClient,
        url: str,
        tokens: ServiceTokens,
        silence: Silence,
        measures: Measures = UNMEASURED,
    ) -> None:
        self._client, self._url, self._tokens, self._silence = client, url, tokens, silence
        self._measures = measures

    async def validate(self, request: ValidationRequest) -> ValidationDecision:
        """Ask; only a readable 200 is a decision. What governance is told are numbers that every parser holds."""
        if not self._silence.may_ask():
            raise GovernanceUnavailable("not asked: it did not answer others")
        started, answer = time.perf_counter(), UNAVAILABLE
        try:
            decision = await self._asked(request)
            answer = decision.action.value
        except GovernanceRefused:
            answer = REFUSED
            raise
        finally:
            self._measures.observe(GOVERNANCE_SECONDS, time.perf_counter() - started, answer)
        return decision

    async def _asked(self, request: ValidationRequest) -> ValidationDecision:
        try:
            with calling("POST", self._url, "/v1/outcomes/validate", about(request.contract_id, request.attempt_id)):
                answer = await self._client.request(
                    "POST",
                    f"{self._url}/v1/outcomes/validate",
                    content=json.dumps(safely_sent(request.model_dump(mode="json")), allow_nan=False),
                    headers={**await self._tokens.headers("governance"), "Content-Type": "application/json"},
                )
                on_answer(answer.status_code)
        except _unanswered() as error:
            self._silence.unanswered()
            raise GovernanceUnavailable(type(error).__name__) from error
        self._silence.answered()  # what it says to this one tells nothing about others
        return _decision_in(answer)


def _decision_in(answer: "httpx.Response") -> ValidationDecision:
    if answer.status_code in _AWAY:
        raise GovernanceUnavailable(str(answer.status_code))
    if answer.status_code != HTTPStatus.OK:
        raise GovernanceRefused(str(answer.status_code))
    try:
        return ValidationDecision.model_validate_json(answer.content, extra="ignore")  # governance may be newer
    except ValidationError as error:
        raise GovernanceRefused("an unreadable decision") from error


class HttpAwards:
    """Work-publisher's `GET /v1/awards/{contract_id}`."""

    def __init__(self, client: HttpClient, url: str, tokens: ServiceTokens) -> None:
        self._client, self._url, self._tokens = client, url, tokens

    async def get(self, contract_id: str) -> FoundAward | None:
        """The award, None where there is none. Raises `TemporarilyUnavailable` where nobody answers."""
        try:
            with calling("GET", self._url, "/v1/awards/{contract_id}", about(contract_id)):
                answer = await self._client.request(
                    "GET",
                    f"{self._url}/v1/awards/{quote(contract_id, safe='')}",
                    headers=await self._tokens.headers("work-publisher"),
                )
                on_answer(answer.status_code)
            if answer.status_code == HTTPStatus.NOT_FOUND:
                return None
            answer.raise_for_status()
            awarded = ContractAwarded.model_validate_json(answer.content, extra="ignore")  # as the event's data
            return FoundAward(awarded, answer.headers.get(CONTRACT_TRACE))
        except _unanswered() as error:
            raise TemporarilyUnavailable(
                "work_publisher_unreachable", "Awards cannot be looked up right now"
            ) from error


def _unanswered() -> tuple[type[Exception], ...]:
    """No readable answer. `AttributeError` is what anyio makes of a connection that breaks as it is made, and
    `TemporarilyUnavailable` says that there is no token to call with: whoever it is, nobody can be asked."""
    import httpx  # noqa: PLC0415 imported by the client, once it is made

    return (httpx.HTTPError, ValidationError, AttributeError, TemporarilyUnavailable)

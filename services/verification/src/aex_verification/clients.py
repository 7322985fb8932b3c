"""The other services, over HTTP with short-lived service tokens, explicit deadlines, and the trace of the caller."""

from urllib.parse import quote

import httpx
from pydantic import ValidationError

from aex_models.events import ContractAwarded
from aex_models.governance import ValidationDecision, ValidationRequest
from aex_runtime.errors import TemporarilyUnavailable
from aex_runtime.identity.service_tokens import ServiceTokens
from aex_runtime.telemetry import current_trace
from aex_verification.ports import GovernanceUnavailable
from aex_verification.silence import Silence

_UNANSWERED = (httpx.HTTPError, ValidationError, AttributeError)
"""No readable answer. `AttributeError` is what anyio makes of a connection that breaks as it is made."""

_ANSWERED = (httpx.HTTPStatusError, ValidationError)


class HttpGovernance:
    """Governance's `POST /v1/outcomes/validate`."""

    def __init__(self, client: httpx.AsyncClient, url: str, tokens: ServiceTokens, silence: Silence) -> None:
        self._client, self._url, self._tokens, self._silence = client, url, tokens, silence

    async def validate(self, request: ValidationRequest) -> ValidationDecision:
        """Ask; anything but a readable 200 means that governance cannot be asked now."""
        if not self._silence.may_ask():
            raise GovernanceUnavailable("not asked: it did not answer others")
        try:
            answer = await self._client.post(
                f"{self._url}/v1/outcomes/validate",
                content=request.model_dump_json(),
                headers={
                    **await self._tokens.headers("governance"),
                    **current_trace(),
                    "Content-Type": "application/json",
                },
            )
            self._silence.answered()  # what it says to this one tells nothing about others
            answer.raise_for_status()
            return ValidationDecision.model_validate_json(answer.content)
        except _UNANSWERED as error:
            if not isinstance(error, _ANSWERED):
                self._silence.unanswered()
            raise GovernanceUnavailable(f"{type(error).__name__}: {_status(error)}") from error


class HttpAwards:
    """Work-publisher's `GET /v1/awards/{contract_id}`."""

    def __init__(self, client: httpx.AsyncClient, url: str, tokens: ServiceTokens) -> None:
        self._client, self._url, self._tokens = client, url, tokens

    async def get(self, contract_id: str) -> ContractAwarded | None:
        """The award, None where there is none. Raises `TemporarilyUnavailable` where nobody answers."""
        try:
            answer = await self._client.get(
                f"{self._url}/v1/awards/{quote(contract_id, safe='')}",
                headers={**await self._tokens.headers("work-publisher"), **current_trace()},
            )
            if answer.status_code == httpx.codes.NOT_FOUND:
                return None
            answer.raise_for_status()
            return ContractAwarded.model_validate_json(answer.content)
        except _UNANSWERED as error:
            raise TemporarilyUnavailable(
                "work_publisher_unreachable", "Awards cannot be looked up right now"
            ) from error


def _status(error: Exception) -> str:
    return str(error.response.status_code) if isinstance(error, httpx.HTTPStatusError) else "no answer"

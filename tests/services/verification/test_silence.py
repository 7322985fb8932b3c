"""While governance is silent, outcomes wait without everybody asking it; as soon as it answers, all ask again."""

import json
from contextlib import suppress
from datetime import timedelta

import httpx
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from aex_models.canonical import canonical_bytes
from aex_models.governance import ValidationRequest
from aex_models.numbers import is_number
from aex_runtime.http.strict_json import parse_strict
from aex_verification.clients import HttpGovernance
from aex_verification.ports import GovernanceRefused, GovernanceUnavailable
from aex_verification.rules.policy import governance_wait
from aex_verification.silence import FAILURES, PAUSE_S, Silence

TRY_S = 5.0
ALLOWED = b'{"valid": true, "action": "allow"}'


class Watch:
    """A monotonic clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class NoTokens:
    """For a service that asks for none."""

    async def token(self, audience: str) -> str:
        return audience

    async def headers(self, audience: str) -> dict[str, str]:
        return {"Authorization": audience}


class Governance:
    """What is behind the wire: it answers as `says`, where None is no answer."""

    def __init__(self) -> None:
        self.watch = Watch()
        self.says: httpx.Response | None = None
        self.asked = 0
        client = httpx.AsyncClient(transport=httpx.MockTransport(self._answer))
        self.client = HttpGovernance(client, "http://governance", NoTokens(), Silence(TRY_S, self.watch))

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.asked += 1
        if self.says is None:
            raise httpx.ReadTimeout("no answer", request=request)
        return self.says

    async def is_asked(self) -> bool:
        """Whether one more outcome makes a call."""
        before = self.asked
        with suppress(GovernanceUnavailable, GovernanceRefused):
            await self.client.validate(REQUEST)
        return self.asked > before


REQUEST = ValidationRequest.model_validate(
    {
        "attempt_id": "att_1",
        "contract_id": "ctr_1",
        "work_id": "work_1",
        "domain": "general",
        "agent": {"id": "bot"},
        "consumer": {"id": "acme"},
        "output_hash": "0" * 64,
        "received_at": "2026-01-01T00:00:00Z",
    }
)


@pytest.fixture
def governance() -> Governance:
    return Governance()


async def test_a_single_failure_keeps_nobody_from_asking(governance: Governance) -> None:
    for _ in range(4):
        governance.says = None
        assert [await governance.is_asked() for _ in range(FAILURES - 1)] == [True] * (FAILURES - 1)
        governance.says = httpx.Response(200, content=ALLOWED)
        assert (await governance.client.validate(REQUEST)).valid


async def test_while_it_is_silent_one_at_a_time_finds_out(governance: Governance) -> None:
    assert all([await governance.is_asked() for _ in range(FAILURES)])
    assert not any([await governance.is_asked() for _ in range(10)])
    governance.watch.now += PAUSE_S
    assert await governance.is_asked()
    assert not await governance.is_asked()
    governance.watch.now += PAUSE_S
    governance.says = httpx.Response(200, content=ALLOWED)
    assert all([await governance.is_asked() for _ in range(10)])


async def test_a_refusal_of_one_outcome_is_an_answer(governance: Governance) -> None:
    governance.says = httpx.Response(422, content=b"{}")
    assert all([await governance.is_asked() for _ in range(2 * FAILURES)])


@pytest.mark.parametrize("status", [400, 404, 409, 413, 422, 500])
async def test_an_answer_without_a_decision_is_a_refusal(governance: Governance, status: int) -> None:
    governance.says = httpx.Response(status, content=b"{}")
    with pytest.raises(GovernanceRefused, match=str(status)):
        await governance.client.validate(REQUEST)


@pytest.mark.parametrize("status", [401, 403, 408, 429, 502, 503, 504])
async def test_an_answer_that_says_nothing_of_the_question_is_none(governance: Governance, status: int) -> None:
    governance.says = httpx.Response(status, content=b"{}")
    with pytest.raises(GovernanceUnavailable, match=str(status)):
        await governance.client.validate(REQUEST)


async def test_a_decision_that_cannot_be_read_is_a_refusal(governance: Governance) -> None:
    governance.says = httpx.Response(200, content=b'{"valid": true}')
    with pytest.raises(GovernanceRefused):
        await governance.client.validate(REQUEST)


@given(number=st.integers(-(10**21), 10**21) | st.floats(allow_nan=False, allow_infinity=False))
async def test_every_number_that_a_candidate_may_hold_is_told_in_a_form_that_is_taken(number: float) -> None:
    assume(is_number(number))
    sent: list[bytes] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request.content)
        return httpx.Response(200, content=b'{"valid": true, "action": "allow"}')

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as client:
        governance = HttpGovernance(client, "http://governance", NoTokens(), Silence(TRY_S, Watch()))
        claims, metadata = {"accuracy": number}, {"seen": [number, {"deep": number}]}
        stored = json.loads(canonical_bytes({"claimed_metrics": claims, "execution_metadata": metadata}))
        await governance.validate(ValidationRequest.model_validate({**REQUEST.model_dump(), **stored}))
    told = ValidationRequest.model_validate(parse_strict(sent[0]))
    assert told.claimed_metrics["accuracy"] == number
    assert told.execution_metadata == metadata


def test_who_tries_and_never_comes_back_is_followed_by_another() -> None:
    watch = Watch()
    silence = Silence(TRY_S, watch)
    for _ in range(FAILURES):
        assert silence.may_ask()
        silence.unanswered()
    watch.now += PAUSE_S
    assert silence.may_ask()
    assert not silence.may_ask()
    watch.now += TRY_S
    assert silence.may_ask()


@given(waited_s=st.floats(0, 1e6), jitter=st.floats(0, 0.999))
def test_the_next_try_comes_within_a_quarter_of_the_time_waited_and_a_minute(waited_s: float, jitter: float) -> None:
    wait = governance_wait(timedelta(seconds=waited_s), jitter).total_seconds()
    assert 0.5 <= wait <= min(60, max(1.0, waited_s / 4) + 1e-6)

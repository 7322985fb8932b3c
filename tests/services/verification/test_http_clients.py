import json
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from aex_models.audiences import project_event_data
from aex_models.canonical import canonical_bytes
from aex_models.governance import ValidationRequest
from aex_models.numbers import is_finite_number
from aex_runtime.clock import WallClock
from aex_runtime.errors import TemporarilyUnavailable
from aex_runtime.http.strict_json import parse_strict_json
from aex_runtime.identity.local_key import load_or_create_key
from aex_runtime.identity.tokens import LocalIssuer, LocalServiceTokens
from aex_runtime.ids import RandomIds
from aex_runtime.measures import UNMEASURED, Measures
from aex_runtime.telemetry import continue_trace
from aex_runtime.tracing.sdk import create_recording_tracers
from aex_verification.http_clients import FAILURES, PAUSE_S, CircuitBreaker, HttpAwards, HttpGovernance
from aex_verification.ports import GovernanceRefused, GovernanceUnavailable
from aex_verification.rules.records import compute_retry_delay
from tests.parts.verification import VerificationBench

TRY_S = 5.0
ALLOWED = b'{"valid": true, "action": "allow"}'


class Watch:
    """A monotonic clock that is moved by hand."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class NoTokens:
    async def get_token(self, audience: str) -> str:
        return audience

    async def call_headers(self, audience: str) -> dict[str, str]:
        return {"Authorization": audience}


class Governance:
    """Client of a governance that answers `says`, or not at all."""

    def __init__(self, measures: Measures = UNMEASURED) -> None:
        self.watch = Watch()
        self.says: httpx.Response | None = None
        self.sent: list[bytes] = []
        client = httpx.AsyncClient(transport=httpx.MockTransport(self._answer))
        breaker = CircuitBreaker(TRY_S, self.watch)
        self.client = HttpGovernance(client, "http://governance", NoTokens(), breaker, measures)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.sent.append(request.content)
        if self.says is None:
            raise httpx.ReadTimeout("no answer", request=request)
        return self.says

    async def makes_a_call(self) -> bool:
        before = len(self.sent)
        with suppress(GovernanceUnavailable, GovernanceRefused):
            await self.client.validate(REQUEST)
        return len(self.sent) > before


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


async def test_single_failure_keeps_the_circuit_closed(governance: Governance) -> None:
    for _ in range(4):
        governance.says = None
        assert [await governance.makes_a_call() for _ in range(FAILURES - 1)] == [True] * (FAILURES - 1)
        governance.says = httpx.Response(200, content=ALLOWED)
        assert (await governance.client.validate(REQUEST)).valid


async def test_open_circuit_allows_one_call_at_a_time(governance: Governance) -> None:
    assert all([await governance.makes_a_call() for _ in range(FAILURES)])
    assert not any([await governance.makes_a_call() for _ in range(10)])
    governance.watch.now += PAUSE_S
    assert await governance.makes_a_call()
    assert not await governance.makes_a_call()
    governance.watch.now += PAUSE_S
    governance.says = httpx.Response(200, content=ALLOWED)
    assert all([await governance.makes_a_call() for _ in range(10)])


async def test_refusal_keeps_the_circuit_closed(governance: Governance) -> None:
    governance.says = httpx.Response(422, content=b"{}")
    assert all([await governance.makes_a_call() for _ in range(2 * FAILURES)])


@pytest.mark.parametrize(
    ("status", "content", "error"),
    [
        *((status, b"{}", GovernanceRefused) for status in (400, 404, 409, 413, 422, 500)),
        *((status, b"{}", GovernanceUnavailable) for status in (401, 403, 408, 429, 502, 503, 504)),
        (200, b'{"valid": true}', GovernanceRefused),
    ],
)
async def test_answer_without_a_decision_is_an_error(
    governance: Governance, status: int, content: bytes, error: type[Exception]
) -> None:
    governance.says = httpx.Response(status, content=content)
    with pytest.raises(error, match="unreadable" if status == 200 else str(status)):
        await governance.client.validate(REQUEST)


class NoToken(NoTokens):
    async def call_headers(self, audience: str) -> dict[str, str]:
        raise TemporarilyUnavailable("service_token_unavailable", f"none for {audience}", retry_after_s=5)


async def test_missing_token_is_an_unavailable_service() -> None:
    async with httpx.AsyncClient(transport=httpx.MockTransport(lambda _: httpx.Response(500))) as client:
        with pytest.raises(TemporarilyUnavailable) as caught:
            await HttpAwards(client, "http://publisher:8081", NoToken()).get("ctr_1")
        breaker = CircuitBreaker(TRY_S, Watch())
        governance = HttpGovernance(client, "http://governance", NoToken(), breaker, UNMEASURED)
        for _ in range(FAILURES):
            with pytest.raises(GovernanceUnavailable):
                await governance.validate(REQUEST)
    assert caught.value.code == "work_publisher_unreachable"
    assert not breaker.try_start_call()


@given(number=st.integers(-(10**21), 10**21) | st.floats(allow_nan=False, allow_infinity=False))
async def test_every_number_is_sent_readably(number: float) -> None:
    assume(is_finite_number(number))
    governance = Governance()
    governance.says = httpx.Response(200, content=ALLOWED)
    claims, metadata = {"accuracy": number}, {"seen": [number, {"deep": number}]}
    stored = json.loads(canonical_bytes({"claimed_metrics": claims, "execution_metadata": metadata}))
    await governance.client.validate(ValidationRequest.model_validate({**REQUEST.model_dump(), **stored}))
    reported = ValidationRequest.model_validate(parse_strict_json(governance.sent[0]))
    assert reported.claimed_metrics["accuracy"] == number
    assert reported.execution_metadata == metadata


def test_unreported_probe_expires() -> None:
    watch = Watch()
    breaker = CircuitBreaker(TRY_S, watch)
    for _ in range(FAILURES):
        assert breaker.try_start_call()
        breaker.record_failure()
    watch.now += PAUSE_S
    assert breaker.try_start_call()
    assert not breaker.try_start_call()
    watch.now += TRY_S
    assert breaker.try_start_call()


@given(waited_s=st.floats(0, 1e6), jitter=st.floats(0, 0.999))
def test_governance_delay_is_a_quarter_of_the_wait_up_to_a_minute(waited_s: float, jitter: float) -> None:
    wait = compute_retry_delay(timedelta(seconds=waited_s), jitter).total_seconds()
    assert 0.5 <= wait <= min(60, max(1.0, waited_s / 4) + 1e-6)


TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


class Publisher:
    def __init__(self, data_dir: Path) -> None:
        self.says: httpx.Response | None = None
        self.headers: list[httpx.Headers] = []
        client = httpx.AsyncClient(transport=httpx.MockTransport(self._answer))
        tokens = LocalServiceTokens(
            LocalIssuer(load_or_create_key(data_dir), WallClock(), RandomIds()), "verification", WallClock()
        )
        self.awards = HttpAwards(client, "http://publisher:8081", tokens)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        self.headers.append(request.headers)
        if self.says is None:
            raise httpx.ConnectError("10.0.0.7 refused")
        return self.says


@pytest.fixture
def publisher(tmp_path: Path) -> Publisher:
    return Publisher(tmp_path)


async def test_award_has_its_trace(publisher: Publisher) -> None:
    awarded = await VerificationBench().award()
    publisher.says = httpx.Response(200, json=project_event_data(awarded), headers={"ce-traceparent": TRACE})
    found = await publisher.awards.get("ctr_1")
    assert found is not None
    assert (found.awarded.award.contract_id, found.traceparent) == ("ctr_1", TRACE)
    publisher.says = httpx.Response(200, json=project_event_data(awarded))  # one that was made before there were traces
    older = await publisher.awards.get("ctr_1")
    assert older is not None
    assert older.traceparent is None
    publisher.says = httpx.Response(404)
    assert await publisher.awards.get("ctr_1") is None


async def test_call_is_a_span_and_sends_its_context(publisher: Publisher) -> None:
    exporter = InMemorySpanExporter()
    tracers = create_recording_tracers("verification", [SimpleSpanProcessor(exporter)])
    answers = (httpx.Response(404), httpx.Response(503), None)
    for answer in answers:
        publisher.says = answer
        with continue_trace(TRACE, None, "request", tracers):
            try:
                await publisher.awards.get("ctr_1")
            except TemporarilyUnavailable:
                assert answer is None or answer.status_code == 503
    calls = [span for span in exporter.get_finished_spans() if span.kind is SpanKind.CLIENT]
    assert {call.name for call in calls} == {"GET /v1/awards/{contract_id}"}
    assert {call.status.status_code for call in calls} == {StatusCode.ERROR}
    attributes = [dict(call.attributes or {}) for call in calls]
    assert [each.get("http.response.status_code") for each in attributes] == [404, 503, None]
    assert [each["error.type"] for each in attributes] == ["404", "503", "ConnectError"]
    assert {(each["server.address"], each["server.port"], each["aex.contract_id"]) for each in attributes} == {
        ("publisher", 8081, "ctr_1")
    }
    sent = [headers["traceparent"].split("-")[2] for headers in publisher.headers]
    assert sent == [f"{call.context.span_id:016x}" for call in calls]
    assert "10.0.0.7" not in "".join(call.to_json() for call in calls)

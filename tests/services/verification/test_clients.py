"""What other services answer, as verification reads it, and the spans of asking them."""

from pathlib import Path

import httpx
import pytest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from aex_models.audiences import project_event
from aex_models.governance import Party, ValidationRequest
from aex_runtime.clock import WallClock
from aex_runtime.errors import TemporarilyUnavailable
from aex_runtime.identity.local_issuer import LocalIssuer
from aex_runtime.identity.local_key import local_key
from aex_runtime.identity.local_service_tokens import LocalServiceTokens
from aex_runtime.ids import RandomIds
from aex_runtime.telemetry import continue_trace
from aex_runtime.tracing.recording import recording_tracers
from aex_verification.clients import HttpAwards, HttpGovernance
from aex_verification.ports import GovernanceUnavailable
from aex_verification.silence import FAILURES, Silence
from tests.parts.verification import VerificationBench

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


class Publisher:
    """What is behind the wire: it answers as `says`, where None is no answer."""

    def __init__(self, data_dir: Path) -> None:
        self.says: httpx.Response | None = None
        self.headers: list[httpx.Headers] = []
        client = httpx.AsyncClient(transport=httpx.MockTransport(self._answer))
        tokens = LocalServiceTokens(
            LocalIssuer(local_key(data_dir), WallClock(), RandomIds()), "verification", WallClock()
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


async def test_an_award_comes_with_the_trace_that_it_was_made_in(publisher: Publisher) -> None:
    awarded = await VerificationBench().award()
    publisher.says = httpx.Response(200, json=project_event(awarded), headers={"ce-traceparent": TRACE})
    found = await publisher.awards.get("ctr_1")
    assert found is not None
    assert (found.awarded.award.contract_id, found.traceparent) == ("ctr_1", TRACE)
    publisher.says = httpx.Response(200, json=project_event(awarded))  # one that was made before there were traces
    older = await publisher.awards.get("ctr_1")
    assert older is not None
    assert older.traceparent is None


async def test_an_award_that_is_not_there_is_none(publisher: Publisher) -> None:
    publisher.says = httpx.Response(404)
    assert await publisher.awards.get("ctr_1") is None


class Untokened:
    """Tokens that cannot be had."""

    async def token(self, audience: str) -> str:
        raise TemporarilyUnavailable("service_token_unavailable", f"none for {audience}", retry_after_s=5)

    async def headers(self, audience: str) -> dict[str, str]:
        return {"Authorization": await self.token(audience)}


async def test_without_a_token_to_call_with_an_award_cannot_be_looked_up_now() -> None:
    async with httpx.AsyncClient(transport=httpx.MockTransport(unheard)) as client:
        with pytest.raises(TemporarilyUnavailable) as caught:
            await HttpAwards(client, "http://publisher:8081", Untokened()).get("ctr_1")
    assert caught.value.code == "work_publisher_unreachable"


async def test_without_a_token_to_call_with_governance_is_away_and_after_a_while_nobody_tries() -> None:
    async with httpx.AsyncClient(transport=httpx.MockTransport(unheard)) as client:
        silence = Silence(5, lambda: 0.0)
        governance = HttpGovernance(client, "http://governance:8083", Untokened(), silence)
        request = ValidationRequest(
            attempt_id="att_1",
            contract_id="ctr_1",
            work_id="work_1",
            domain="news",
            agent=Party(id="bot"),
            consumer=Party(id="acme"),
            output_hash="0" * 64,
            received_at=WallClock().now(),
        )
        for _ in range(FAILURES):
            with pytest.raises(GovernanceUnavailable):
                await governance.validate(request)
    assert not silence.may_ask()


def unheard(request: httpx.Request) -> httpx.Response:
    """Nobody is called without a token."""
    raise AssertionError(request)


async def test_a_call_is_a_span_whose_context_it_carries(publisher: Publisher) -> None:
    exporter = InMemorySpanExporter()
    tracers = recording_tracers("verification", [SimpleSpanProcessor(exporter)])
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
    said = [dict(call.attributes or {}) for call in calls]
    assert [each.get("http.response.status_code") for each in said] == [404, 503, None]
    assert [each["error.type"] for each in said] == ["404", "503", "ConnectError"]
    assert {(each["server.address"], each["server.port"], each["aex.contract_id"]) for each in said} == {
        ("publisher", 8081, "ctr_1")
    }
    sent = [headers["traceparent"].split("-")[2] for headers in publisher.headers]
    assert sent == [f"{call.context.span_id:016x}" for call in calls]
    assert "10.0.0.7" not in "".join(call.to_json() for call in calls)

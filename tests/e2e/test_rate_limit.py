"""A caller above its rate gets 429 on routes, pages and streams; other callers notice nothing."""

from collections.abc import Iterator

import httpx
import pytest
from structlog.testing import capture_logs

from aex_cli.suite.service_spec import MODULES
from aex_client import AexClient, Endpoints
from tests.e2e.jobs import GOOD, contract, deliver, until_settled
from tests.e2e.live import Live, live_suite
from tests.e2e.parties import Caller, parties_of

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
PER_S, BURST = 2.0, 30


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A suite that takes few requests of each."""
    limits = {"AEX_RATE_LIMIT_PER_S": f"{PER_S:g}", "AEX_RATE_LIMIT_BURST": str(BURST)}
    with live_suite(tmp_path_factory.mktemp("limited") / ".aex", environment=limits) as live:
        yield live
        assert live.breakdowns() == []


def flood(sender: Caller, service: str, path: str) -> list[httpx.Response]:
    """Many requests, one after the other."""
    return [sender.get(service, path) for _ in range(3 * BURST)]


def refused(answers: list[httpx.Response]) -> list[httpx.Response]:
    """Check every answer and return the refusals."""
    assert {answer.status_code for answer in answers} == {200, 429}
    found = [answer for answer in answers if answer.status_code == 429]
    assert all(int(answer.headers["retry-after"]) == 1 for answer in found)
    return found


@pytest.mark.parametrize(
    ("service", "path"),
    [
        ("work-publisher", "/v1/work"),
        ("verification", "/v1/contracts"),
        ("governance", "/v1/holds"),
        ("settlement", "/v1/settlements"),
    ],
)
def test_each_service_refuses_a_flood_and_serves_others_meanwhile(strict: Live, service: str, path: str) -> None:
    parties, others = parties_of(strict), parties_of(strict)
    sender, other = (each.operator if service == "governance" else each.consumer for each in (parties, others))
    before = strict.metric(service, "aex_rate_limited_requests_total")
    found = refused(flood(sender, service, path))
    assert {answer.json()["code"] for answer in found} == {"rate_limited"}
    assert {answer.headers["content-type"] for answer in found} == {"application/problem+json"}
    assert other.get(service, path).status_code == 200
    assert strict.metric(service, "aex_rate_limited_requests_total") == before + len(found)
    reported = [line for line in strict.log(service) if line["event"] == "rate_limited"]
    assert [line["principal"] for line in reported].count(sender.id) == 1


def test_pages_refuse_with_a_page(strict: Live) -> None:
    finance = parties_of(strict).finance
    (page, *_) = refused(flood(finance, "settlement", "/dashboard"))
    assert page.headers["content-type"].startswith("text/html")
    assert "Wait a moment" in page.text


def test_the_platform_goes_on_and_streams_are_refused_too(strict: Live) -> None:
    parties = parties_of(strict)
    contract_id = contract(parties)
    deliver(parties, contract_id, GOOD)
    until_settled(parties.finance, contract_id, poll_s=1)
    path = f"/v1/contracts/{contract_id}/events"
    assert refused(flood(parties.agent, "verification", path))


def test_client_library_waits_for_retry_after_and_succeeds(strict: Live) -> None:
    agent = parties_of(strict).agent
    refused(flood(agent, "verification", "/v1/contracts"))
    endpoints = Endpoints(*(strict.url(service, "") for service in MODULES))
    with AexClient(endpoints, agent.token) as client, capture_logs() as logs:
        for _ in range(3):
            client.list_contracts()
    waited = [line["pause_s"] for line in logs if line["event"] == "aex_call_retried"]
    assert waited
    assert min(waited) >= 1

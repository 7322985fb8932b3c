"""A suite with Google's tokens between its services, with a local metadata server and keys."""

import json
from collections.abc import Iterator

import pytest

from aex_models.audiences import Audience
from tests.e2e.backend import EMBEDDED
from tests.e2e.bad_input_targets import refused
from tests.e2e.jobs import GOOD, candidate, contract, deliver, eventually, plain_work, until_settled, until_status
from tests.e2e.live import Live, live_suite
from tests.e2e.parties import Caller, PatientCaller, caller, parties_of
from tests.parts.google import ACCOUNTS, CannedResponse, GoogleStub, run_google_stub

pytestmark = [pytest.mark.e2e, pytest.mark.slow]
TOKEN_REQUESTS = {"work-publisher": "/v1/awards/{}", "governance": "/v1/holds", "settlement": "/v1/settlements"}
"""Path to read from another service with a token."""
UNKNOWN = "/v1/contracts/ctr_unknown/outputs"
"""Verification asks work-publisher whether there is such an award."""


@pytest.fixture(scope="module")
def with_google(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Live, GoogleStub]]:
    """Start a suite whose settings select Google's tokens."""
    folder = tmp_path_factory.mktemp("google")
    with run_google_stub(folder) as google:
        environment = {
            "AEX_LOG_LEVEL": "debug",
            "AEX_SERVICE_TOKENS": "google",
            "AEX_SERVICE_ACCOUNTS": json.dumps(ACCOUNTS),
            "AEX_GOOGLE_JWKS": str(google.jwks),
            "GCE_METADATA_HOST": google.host,
        }
        with live_suite(folder / ".aex", EMBEDDED, environment=environment) as live:
            yield live, google
            assert live.breakdowns() == []


def test_outcome_waits_unpaid_while_google_issues_no_token(with_google: tuple[Live, GoogleStub]) -> None:
    live, google = with_google
    google.canned, google.repeats_last = [CannedResponse(503)], True
    refused(parties_of(live).agent.post("verification", UNKNOWN, candidate(GOOD)), 503, "work_publisher_unreachable")
    parties = parties_of(live, kind=PatientCaller)
    contract_id = contract(parties, **plain_work())
    path = f"/v1/contracts/{contract_id}/outputs"
    assert parties.agent.post("verification", path, candidate(GOOD)).is_success
    eventually(lambda: is_logged(live, "governance_unreachable"), what="governance being out of reach")
    seen = parties.operator.read("verification", f"/v1/contracts/{contract_id}")
    assert (seen["status"], seen["attempts_used"]) == ("verifying", 1)
    assert is_logged(live, "id_token_retried")
    assert is_logged(live, "id_token_missing")
    google.canned = []
    until_settled(parties.finance, contract_id)
    assert until_status(parties.operator, contract_id, "passed")["attempts_used"] == 1


def test_only_googles_tokens_of_listed_accounts_identify_services(with_google: tuple[Live, GoogleStub]) -> None:
    live, google = with_google
    parties = parties_of(live)
    contract_id = contract(parties)
    assert deliver(parties, contract_id, GOOD)["verdict"] == "passed"
    until_settled(parties.finance, contract_id)
    refused(parties.agent.post("verification", UNKNOWN, candidate(GOOD)), 404)  # work-publisher was asked
    assert set(google.audiences) == {"aex:governance", "aex:work-publisher"}
    requested = len(google.audiences)
    refused(parties.agent.post("verification", UNKNOWN, candidate(GOOD)), 404)
    assert len(google.audiences) == requested, "the token is cached"

    def knock(token: str) -> tuple[int, str | None]:
        answer = Caller(live, "x", token).get("work-publisher", TOKEN_REQUESTS["work-publisher"].format(contract_id))
        return answer.status_code, None if answer.is_success else answer.json()["code"]

    assert knock(google.sign_id_token("aex:work-publisher")) == (200, None)
    assert knock(google.sign_id_token("aex:governance")) == (401, "wrong_audience")
    assert knock(google.sign_id_token("aex:work-publisher", email_verified="true")) == (401, "unverified_account")
    stranger = "other@their-project.iam.gserviceaccount.com"
    assert knock(google.sign_id_token("aex:work-publisher", email=stranger)) == (401, "unknown_account")
    stolen = caller(live, Audience.SERVICE, "service:verification")
    for service, path in TOKEN_REQUESTS.items():
        refused(stolen.get(service, path.format(contract_id)), 401, "role_not_granted")


def is_logged(live: Live, event: str) -> bool | None:
    """Return whether verification has logged the event."""
    return True if any(line["event"] == event for line in live.log("verification")) else None

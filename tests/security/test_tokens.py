"""Forged, altered, stolen and misdirected tokens against running services: none is taken, none is repeated."""

from collections.abc import Mapping, Sequence

import httpx
import pytest

from aex_models.events import SERVICES
from aex_runtime.identity.local_key import local_key
from tests.security.conftest import PARTNER, Attacked
from tests.security.forgery import Forger, forgeries

pytestmark = pytest.mark.e2e
PATHS: Mapping[str, str] = {
    "work-publisher": "/v1/work",
    "verification": "/v1/contracts",
    "governance": "/v1/rules",
    "settlement": "/v1/settlements",
}
"""What a consumer, and an agent, may read at each service."""


@pytest.fixture(scope="session")
def forger(attacked: Attacked, tmp_path_factory: pytest.TempPathFactory) -> Forger:
    elsewhere = tmp_path_factory.mktemp("elsewhere") / ".aex"
    return Forger(local_key(attacked.live.data_dir), attacked.partner, PARTNER, elsewhere)


def knock(attacked: Attacked, service: str, headers: Sequence[tuple[str, str]], query: str = "") -> httpx.Response:
    return attacked.live.http.get(attacked.live.url(service, PATHS[service] + query), headers=list(headers))


def bearer(token: str) -> list[tuple[str, str]]:
    return [("Authorization", f"Bearer {token}")]


def refused(answer: httpx.Response) -> None:
    assert answer.status_code == 401, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["www-authenticate"].startswith("Bearer")


def test_the_tokens_that_the_forgeries_are_made_from_are_good(attacked: Attacked, forger: Forger) -> None:
    """Without this they could be refused for a reason of their own."""
    for service in SERVICES:
        for token in (forger.signed(), forger.of_partner(role="agent")):
            assert knock(attacked, service, bearer(token)).status_code == 200, service


@pytest.mark.parametrize("service", SERVICES)
def test_no_service_takes_a_forged_token(attacked: Attacked, forger: Forger, service: str) -> None:
    told = {name: knock(attacked, service, bearer(token)) for name, token in forgeries(forger).items()}
    assert {name: answer.status_code for name, answer in told.items() if answer.status_code != 401} == {}
    for name, token in forgeries(forger).items():
        refused(told[name])
        assert token not in told[name].text
        assert len(told[name].text) < 500, "an answer that explains too much"


def test_a_token_for_one_service_opens_no_other(attacked: Attacked, forger: Forger) -> None:
    for service in SERVICES:
        token = forger.signed(aud=service)
        assert knock(attacked, service, bearer(token)).status_code == 200
        for other in set(SERVICES) - {service}:
            refused(knock(attacked, other, bearer(token)))


def test_a_tampered_copy_of_a_token_that_was_just_taken_is_refused(attacked: Attacked, forger: Forger) -> None:
    """Tokens are remembered for a while: the memory must not answer for others."""
    good = forger.signed()
    assert knock(attacked, "settlement", bearer(good)).status_code == 200
    head, claims, signature = good.split(".")
    flipped = signature[:-2] + ("A" if signature[-2] != "A" else "B") + signature[-1]
    refused(knock(attacked, "settlement", bearer(f"{head}.{claims}.{flipped}")))
    refused(knock(attacked, "settlement", bearer(forger.tampered(role="finance"))))


def test_two_authorization_headers_are_refused_whichever_is_good(attacked: Attacked, forger: Forger) -> None:
    good, bad = bearer(forger.signed()), bearer(forger.foreign())
    for headers in ([*good, *bad], [*bad, *good], [*good, *good]):
        refused(knock(attacked, "settlement", headers))
    refused(knock(attacked, "settlement", [("Authorization", f"{good[0][1]}, {bad[0][1]}")]))


def test_a_good_token_in_the_wrong_place_is_no_token(attacked: Attacked, forger: Forger) -> None:
    token = forger.signed()
    for headers in (
        [("Authorization", token)],
        [("Authorization", f"Basic {token}")],
        [("Authorization", "Bearer")],
        [("Cookie", f"authorization=Bearer {token}; token={token}; session={token}")],
        [("X-Forwarded-Authorization", f"Bearer {token}"), ("X-Api-Key", token)],
    ):
        refused(knock(attacked, "settlement", headers))
    refused(knock(attacked, "settlement", [], f"?access_token={token}&token={token}"))


def test_headers_that_name_a_principal_or_a_role_change_nothing(attacked: Attacked, forger: Forger) -> None:
    said = [("X-Role", "finance"), ("X-Forwarded-User", "root"), ("X-HTTP-Method-Override", "POST")]
    url = attacked.live.url("settlement", "/v1/trial-balance")
    answer = attacked.live.http.get(url, headers=[*bearer(forger.signed()), *said])
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden_role")


def test_nothing_is_read_of_a_body_before_its_sender_is_known(attacked: Attacked) -> None:
    url = attacked.live.url("work-publisher", "/v1/work")
    refused(attacked.live.http.post(url, content=b"{broken", headers={"Content-Type": "application/json"}))

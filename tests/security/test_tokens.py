"""Forged, altered, stolen and misdirected tokens are refused by running services, and never repeated."""

from collections.abc import Mapping, Sequence

import httpx
import pytest

from aex_models.events import SERVICES
from aex_runtime.identity.local_key import load_or_create_key
from tests.security.conftest import PARTNER, Attacked
from tests.security.forgery import Forger, forgeries

pytestmark = pytest.mark.e2e
PATHS: Mapping[str, str] = {
    "work-publisher": "/v1/work",
    "verification": "/v1/contracts",
    "governance": "/v1/rules",
    "settlement": "/v1/settlements",
}
"""Paths that a consumer and an agent may read at each service."""


@pytest.fixture(scope="session")
def forger(attacked: Attacked, tmp_path_factory: pytest.TempPathFactory) -> Forger:
    elsewhere = tmp_path_factory.mktemp("elsewhere") / ".aex"
    return Forger(load_or_create_key(attacked.live.data_dir), attacked.partner, PARTNER, elsewhere)


def knock(attacked: Attacked, service: str, headers: Sequence[tuple[str, str]], query: str = "") -> httpx.Response:
    return attacked.live.http.get(attacked.live.url(service, PATHS[service] + query), headers=list(headers))


def bearer(token: str) -> list[tuple[str, str]]:
    return [("Authorization", f"Bearer {token}")]


def refused(answer: httpx.Response) -> None:
    assert answer.status_code == 401, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["www-authenticate"].startswith("Bearer")


@pytest.mark.parametrize("service", SERVICES)
def test_forged_token_is_refused(attacked: Attacked, forger: Forger, service: str) -> None:
    for valid in (forger.signed(), forger.of_partner(role="agent")):  # the forgeries are made from these
        assert knock(attacked, service, bearer(valid)).status_code == 200
    reported = {name: knock(attacked, service, bearer(token)) for name, token in forgeries(forger).items()}
    assert {name: answer.status_code for name, answer in reported.items() if answer.status_code != 401} == {}
    for name, token in forgeries(forger).items():
        refused(reported[name])
        assert token not in reported[name].text
        assert len(reported[name].text) < 500, "an answer that explains too much"


def test_token_of_one_service_is_refused_by_others(attacked: Attacked, forger: Forger) -> None:
    for service in SERVICES:
        token = forger.signed(aud=service)
        assert knock(attacked, service, bearer(token)).status_code == 200
        for other in set(SERVICES) - {service}:
            refused(knock(attacked, other, bearer(token)))


def test_altered_copy_of_a_cached_token_is_refused(attacked: Attacked, forger: Forger) -> None:
    """Tokens are remembered for a while: the memory must not answer for others."""
    good = forger.signed()
    assert knock(attacked, "settlement", bearer(good)).status_code == 200
    head, claims, signature = good.split(".")
    flipped = signature[:-2] + ("A" if signature[-2] != "A" else "B") + signature[-1]
    refused(knock(attacked, "settlement", bearer(f"{head}.{claims}.{flipped}")))
    refused(knock(attacked, "settlement", bearer(forger.tampered(role="finance"))))


def test_token_outside_one_bearer_header_is_refused(attacked: Attacked, forger: Forger) -> None:
    token, forged = forger.signed(), forger.foreign()
    good, bad = bearer(token), bearer(forged)
    for headers in (
        [*good, *bad],
        [*bad, *good],
        [*good, *good],
        [("Authorization", f"Bearer {token}, Bearer {forged}")],
        [("Authorization", token)],
        [("Authorization", f"Basic {token}")],
        [("Authorization", "Bearer")],
        [("Cookie", f"authorization=Bearer {token}; token={token}; session={token}")],
        [("X-Forwarded-Authorization", f"Bearer {token}"), ("X-Api-Key", token)],
    ):
        refused(knock(attacked, "settlement", headers))
    refused(knock(attacked, "settlement", [], f"?access_token={token}&token={token}"))


def test_headers_with_a_role_are_ignored(attacked: Attacked, forger: Forger) -> None:
    reported = [("X-Role", "finance"), ("X-Forwarded-User", "root"), ("X-HTTP-Method-Override", "POST")]
    url = attacked.live.url("settlement", "/v1/trial-balance")
    answer = attacked.live.http.get(url, headers=[*bearer(forger.signed()), *reported])
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden_role")


def test_unauthenticated_body_is_not_read(attacked: Attacked) -> None:
    url = attacked.live.url("work-publisher", "/v1/work")
    refused(attacked.live.http.post(url, content=b"{broken", headers={"Content-Type": "application/json"}))

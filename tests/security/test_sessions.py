"""Sign-in to the pages: tokens that make a session, and forms of another session."""

from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest

from aex_models.audiences import Audience
from aex_models.events import SERVICES
from aex_runtime.clock import WallClock
from aex_runtime.identity.local_key import local_key
from aex_runtime.identity.tokens import LocalIssuer
from aex_runtime.ids import RandomIds
from tests.e2e.live import ANSWER_S, Live
from tests.e2e.pages import parsed
from tests.e2e.parties import caller, fresh

pytestmark = pytest.mark.e2e
SITES = {
    "governance": ("/review", {Audience.OPERATOR}),
    "settlement": ("/dashboard", {Audience.FINANCE, Audience.CONSUMER, Audience.AGENT}),
}
CASES = [(service, role) for service in SITES for role in Audience]


@contextmanager
def browser(live: Live, service: str) -> Iterator[httpx.Client]:
    base = live.url(service, "")
    with httpx.Client(base_url=base, headers={"Origin": base}, timeout=ANSWER_S, trust_env=False) as client:
        yield client


def sign_in(client: httpx.Client, service: str, token: str) -> httpx.Response:
    path = f"{SITES[service][0]}/sign-in"
    return client.post(path, data=parsed(client.get(path).text).hidden | {"token": token})


@pytest.mark.parametrize(("service", "role"), CASES)
def test_the_roles_of_a_site_sign_in_and_no_others(live: Live, service: str, role: Audience) -> None:
    admitted = role in SITES[service][1]
    with browser(live, service) as client:
        answer = sign_in(client, service, caller(live, role, fresh("visitor")).token)
        assert answer.status_code == (303 if admitted else 403), answer.text
        assert (f"aex_{service}_session" in client.cookies) is admitted
        assert client.get(SITES[service][0]).status_code == (200 if admitted else 303)


@pytest.mark.parametrize("service", SITES)
def test_token_for_other_services_does_not_sign_in(live: Live, service: str) -> None:
    issuer = LocalIssuer(local_key(live.data_dir), WallClock(), RandomIds())
    role = min(SITES[service][1], key=list(Audience).index)
    token = issuer.mint(fresh("visitor"), role, audiences=[each for each in SERVICES if each != service])
    with browser(live, service) as client:
        assert sign_in(client, service, token).status_code == 400
        assert f"aex_{service}_session" not in client.cookies


@pytest.mark.parametrize("service", SITES)
def test_a_form_of_somebody_elses_session_is_not_taken(live: Live, service: str) -> None:
    prefix, roles = SITES[service]
    role = min(roles, key=list(Audience).index)
    with browser(live, service) as own, browser(live, service) as foreign:
        for client in (own, foreign):
            sign_in(client, service, caller(live, role, fresh("visitor")).token)
        form = parsed(foreign.get(prefix).text).hidden
        assert own.post(f"{prefix}/sign-out", data=form).status_code == 403
        assert own.get(prefix).status_code == 200
        assert foreign.post(f"{prefix}/sign-out", data=form).status_code == 303

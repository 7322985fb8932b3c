"""Callers without the right: no token, a bad one, the wrong role, a foreign object, invalid ids."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from aex_cli.suite.service_spec import MODULES
from aex_models.audiences import Audience
from aex_runtime.clock import WallClock
from aex_runtime.identity.local_key import local_key
from aex_runtime.identity.tokens import LocalIssuer
from aex_runtime.ids import RandomIds
from tests.e2e.backend import EMBEDDED
from tests.e2e.bad_input_targets import BadInputTargets, bad_input_targets_on, refused
from tests.e2e.counts import object_counts
from tests.e2e.jobs import candidate, work_body
from tests.e2e.live import Live
from tests.e2e.parties import Caller, caller, fresh

pytestmark = [pytest.mark.e2e, pytest.mark.parametrize("live", [EMBEDDED.name], indirect=True, scope="session")]
LISTS = {
    "work-publisher": "/v1/work",
    "verification": "/v1/contracts",
    "governance": "/v1/holds",
    "settlement": "/v1/settlements",
}


@pytest.fixture(scope="module")
def targets(live: Live) -> BadInputTargets:
    return bad_input_targets_on(live)


@pytest.fixture(autouse=True)
def nothing_is_written(targets: BadInputTargets) -> Iterator[None]:
    before = object_counts(targets.live)
    yield
    assert object_counts(targets.live) == before
    assert targets.live.breakdowns() == []


@pytest.mark.parametrize("service", MODULES)
def test_without_a_good_token_nothing_is_answered(targets: BadInputTargets, service: str, tmp_path: Path) -> None:
    live, path = targets.live, LISTS[service]
    assert refused(live.http.get(live.url(service, path)), 401, "missing_token")
    own = LocalIssuer(local_key(live.data_dir), WallClock(), RandomIds())
    other = LocalIssuer(local_key(tmp_path), WallClock(), RandomIds())
    bad = {
        "not.a.token",
        other.mint("olga", Audience.OPERATOR),
        own.mint("olga", Audience.OPERATOR, ttl=timedelta(hours=-1)),
        own.mint("olga", Audience.OPERATOR, audiences=["another-service"]),
        own.mint("olga", Audience.OPERATOR)[:-4] + "AAAA",
    }
    for token in bad:
        answer = Caller(live, "olga", token).get(service, path)
        refused(answer, 401)
        assert answer.headers["WWW-Authenticate"].startswith("Bearer")


def test_forbidden_role_gets_403(targets: BadInputTargets) -> None:
    consumer, agent = targets.parties.consumer, targets.parties.agent
    finance, operator = targets.parties.finance, targets.parties.operator
    for wrong, service, path, body in (
        (agent, "work-publisher", "/v1/work", work_body()),
        (agent, "work-publisher", f"/v1/work/{targets.work_id}/award", {"agent_id": agent.id, "cpc_rate": "1"}),
        (consumer, "work-publisher", f"/v1/work/{targets.work_id}/claim", None),
        (consumer, "verification", f"/v1/contracts/{targets.waiting}/outputs", candidate("x")),
        (agent, "verification", f"/v1/contracts/{targets.waiting}/cancel", None),
        (consumer, "verification", f"/v1/contracts/{targets.waiting}/finalize", None),
        (consumer, "governance", "/v1/outcomes/validate", {}),
        (finance, "governance", "/v1/holds/hold_x/decision", {"decision": "release", "reason": "x"}),
        (operator, "settlement", "/v1/ledger/transactions", {}),
    ):
        refused(wrong.post(service, path, body), 403, "forbidden_role")
    for wrong, service, path in (
        (finance, "work-publisher", "/v1/work"),
        (finance, "verification", "/v1/contracts"),
        (consumer, "governance", "/v1/holds"),
        (agent, "settlement", "/v1/trial-balance"),
        (consumer, "work-publisher", f"/v1/awards/{targets.waiting}"),
    ):
        refused(wrong.get(service, path), 403, "forbidden_role")


def test_somebody_elses_objects_are_not_there(targets: BadInputTargets) -> None:
    live = targets.live
    rival = caller(live, Audience.CONSUMER, fresh("rival"))
    other = caller(live, Audience.AGENT, fresh("other"))
    terms = {"agent_id": other.id, "cpc_rate": "0.10"}
    for answer in (
        rival.get("work-publisher", f"/v1/work/{targets.work_id}"),
        rival.post("work-publisher", f"/v1/work/{targets.work_id}/award", terms),
        rival.post("work-publisher", f"/v1/work/{targets.work_id}/cancel"),
        rival.get("verification", f"/v1/contracts/{targets.waiting}"),
        rival.post("verification", f"/v1/contracts/{targets.waiting}/cancel"),
        other.post("verification", f"/v1/contracts/{targets.waiting}/outputs", candidate("x")),
        other.post("verification", f"/v1/contracts/{targets.waiting}/finalize"),
        other.get("verification", f"/v1/outcomes/{targets.settled}"),
        rival.get("settlement", f"/v1/settlements/{targets.settled}"),
        other.get("settlement", f"/v1/accounts/agent:{targets.parties.agent.id}"),
    ):
        refused(answer, 404)


@pytest.mark.parametrize(
    "invalid_id",
    ["work_", "ctr_nothing", "%00", "..%2F..%2Fetc", "a" * 3000, "%F0%9F%92%A9", "%FF%FE", "'%20OR%201=1", "{}"],
)
def test_an_id_that_is_none_is_not_there(targets: BadInputTargets, invalid_id: str) -> None:
    consumer, finance, operator = targets.parties.consumer, targets.parties.finance, targets.parties.operator
    for reader, service, path in (
        (consumer, "work-publisher", "/v1/work/{}"),
        (consumer, "verification", "/v1/contracts/{}"),
        (consumer, "verification", "/v1/contracts/{}/attempts"),
        (consumer, "verification", f"/v1/contracts/{targets.settled}/attempts/{{}}"),
        (consumer, "verification", "/v1/outcomes/{}"),
        (operator, "governance", "/v1/holds/{}"),
        (finance, "settlement", "/v1/settlements/{}"),
    ):
        answer = reader.get(service, path.replace("{}", invalid_id))
        assert answer.status_code in {400, 404, 422}, (path, answer.status_code, answer.text[:300])
        refused(answer, answer.status_code)


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ({"limit": 0}, 422),
        ({"limit": 201}, 422),
        ({"limit": "many"}, 422),
        ({"limit": "9" * 30}, 422),
        ({"cursor": "made-up"}, 400),
        ({"cursor": "\x00"}, 400),
    ],
)
def test_a_page_that_cannot_be_is_refused(targets: BadInputTargets, query: dict[str, object], status: int) -> None:
    parties = targets.parties
    for reader, service in (
        (parties.consumer, "work-publisher"),
        (parties.consumer, "verification"),
        (parties.operator, "governance"),
        (parties.finance, "settlement"),
    ):
        refused(reader.get(service, LISTS[service], **query), status)


def test_a_key_that_is_too_long_and_a_wait_that_is_too_long_are_refused(targets: BadInputTargets) -> None:
    answer = targets.parties.consumer.post("work-publisher", "/v1/work", work_body(), key="k" * 256)
    refused(answer, 400, "invalid_idempotency_key")
    for wait in ("31", "-1", "nan", "soon"):
        path = f"/v1/contracts/{targets.waiting}/outputs?wait_s={wait}"
        refused(targets.parties.agent.post("verification", path, candidate("x y z")), 422)


@pytest.mark.parametrize("service", MODULES)
def test_a_route_or_a_method_that_is_not_there_is_a_problem_too(targets: BadInputTargets, service: str) -> None:
    live = targets.live
    refused(live.http.get(live.url(service, "/v1/nothing")), 404, "no_such_route")
    refused(live.http.delete(live.url(service, LISTS[service])), 405, "method_not_allowed")

"""Bad requests to running services: each gets a problem document, and nothing is written."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.backend import EMBEDDED
from tests.e2e.bad_input_targets import BadInputTargets, bad_input_targets_on, refused
from tests.e2e.counts import object_counts
from tests.e2e.jobs import candidate, work_body
from tests.e2e.live import Live

pytestmark = [pytest.mark.e2e, pytest.mark.parametrize("live", [EMBEDDED.name], indirect=True, scope="session")]
MEGABYTE = 1_000_000


@pytest.fixture(scope="module")
def targets(live: Live) -> BadInputTargets:
    return bad_input_targets_on(live)


@pytest.fixture(autouse=True, scope="module")
def nothing_is_written(targets: BadInputTargets) -> Iterator[None]:
    before = object_counts(targets.live)
    yield
    assert object_counts(targets.live) == before
    assert targets.live.breakdowns() == []


WRITES = (("work-publisher", "/v1/work"), ("work-publisher", "/v1/work/validate"))
GARBLED = {
    "truncated": b'{"title": "a',
    "not UTF-8": b'{"title": "\xff\xfe"}',
    "NaN": b'{"title": "a", "budget": {"max_cpc": NaN}}',
    "very deep arrays": b"[" * 100_000,
}


@pytest.mark.parametrize("kind", GARBLED)
def test_bytes_that_are_no_good_json_are_refused(targets: BadInputTargets, kind: str) -> None:
    consumer, agent = targets.parties.consumer, targets.parties.agent
    for service, path in WRITES:
        refused(consumer.raw(service, path, GARBLED[kind]), 400)
    refused(agent.raw("verification", f"/v1/contracts/{targets.waiting}/outputs", GARBLED[kind]), 400)
    refused(targets.parties.finance.raw("settlement", "/v1/ledger/transactions", GARBLED[kind]), 400)
    refused(targets.parties.operator.raw("governance", "/v1/holds/hold_x/decision", GARBLED[kind]), 400)


@pytest.mark.parametrize("announced", [True, False])
def test_a_body_over_ten_megabytes_is_refused_with_and_without_its_length(
    targets: BadInputTargets, announced: bool
) -> None:
    chunks = [b'{"output": {"text": "', *[b"a" * MEGABYTE] * 11, b'"}}']
    path = f"/v1/contracts/{targets.waiting}/outputs"
    content = b"".join(chunks) if announced else iter(chunks)
    refused(targets.parties.agent.raw("verification", path, content), 413, "body_too_large")
    content = b"".join(chunks) if announced else iter(chunks)
    refused(targets.parties.consumer.raw("work-publisher", "/v1/work", content), 413, "body_too_large")


def test_another_media_type_and_an_empty_body_are_refused(targets: BadInputTargets) -> None:
    consumer = targets.parties.consumer
    plain = consumer.raw("work-publisher", "/v1/work", b"{}", "text/plain")
    refused(plain, 400, "unsupported_media_type")
    refused(consumer.raw("work-publisher", "/v1/work", b""), 422)


@pytest.mark.parametrize(
    ("changes", "status", "path"),
    [
        ({"surprise": 1}, 422, "/surprise"),
        ({"budget": {"max_cpc": "-1"}}, 422, "/budget/max_cpc"),
        ({"verification": {"verifier": "unknown"}}, 400, "/verification/verifier"),
        ({"allow_claims": True}, 400, "/allow_claims"),
        ({"input": {"reference": "a hidden text"}}, 400, "/input/reference"),
        ({"evaluation": {}}, 400, None),
        ({"success_criteria": {"criteria": []}}, 400, "/success_criteria/criteria"),
    ],
)
def test_invalid_work_is_refused_with_its_pointer(
    targets: BadInputTargets, changes: dict[str, Any], status: int, path: str | None
) -> None:
    problem = refused(targets.parties.consumer.post("work-publisher", "/v1/work", work_body(**changes)), status)
    assert path is None or path in [each["path"] for each in problem["errors"]], problem
    checked = targets.parties.consumer.post("work-publisher", "/v1/work/validate", work_body(**changes))
    assert (checked.status_code, checked.json()["valid"]) == (200, False)


@pytest.mark.parametrize("invalid_id", ["ctr_nothing", "%00", "..%2F..%2Fetc", "a" * 3000, "%FF%FE"])
def test_invalid_id_is_refused_or_not_found(targets: BadInputTargets, invalid_id: str) -> None:
    parties = targets.parties
    for reader, service, path in (
        (parties.consumer, "work-publisher", "/v1/work/{}"),
        (parties.consumer, "verification", "/v1/contracts/{}/attempts"),
        (parties.consumer, "verification", f"/v1/contracts/{targets.settled}/attempts/{{}}"),
        (parties.operator, "governance", "/v1/holds/{}"),
        (parties.finance, "settlement", "/v1/settlements/{}"),
    ):
        answer = reader.get(service, path.replace("{}", invalid_id))
        assert answer.status_code in {400, 404, 422}, (path, answer.status_code, answer.text[:300])
        refused(answer, answer.status_code)


@pytest.mark.parametrize(("query", "status"), [({"limit": 0}, 422), ({"limit": 201}, 422), ({"cursor": "\x00"}, 400)])
def test_unknown_page_route_or_method_is_a_problem(
    targets: BadInputTargets, query: dict[str, object], status: int
) -> None:
    live, parties = targets.live, targets.parties
    for reader, service, path in (
        (parties.consumer, "work-publisher", "/v1/work"),
        (parties.consumer, "verification", "/v1/contracts"),
        (parties.operator, "governance", "/v1/holds"),
        (parties.finance, "settlement", "/v1/settlements"),
    ):
        refused(reader.get(service, path, **query), status)
        refused(live.http.get(live.url(service, "/v1/nothing")), 404, "no_such_route")
        refused(live.http.delete(live.url(service, path)), 405, "method_not_allowed")


def test_too_long_key_and_wait_are_refused(targets: BadInputTargets) -> None:
    answer = targets.parties.consumer.post("work-publisher", "/v1/work", work_body(), key="k" * 256)
    refused(answer, 400, "invalid_idempotency_key")
    for wait in ("31", "-1", "nan"):
        path = f"/v1/contracts/{targets.waiting}/outputs?wait_s={wait}"
        refused(targets.parties.agent.post("verification", path, candidate("x y z")), 422)

from collections.abc import Iterator

import pytest

from tests.e2e.live import Live
from tests.openapi.asking import ASKERS, RoleAnswers, request_all, table, unlimited_suite
from tests.openapi.hostile import SHUT, Scope

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(900)]
REQUESTS = 5_000
"""Part of the requests of `make hostile`, which takes a quarter of an hour."""


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with unlimited_suite(tmp_path_factory.mktemp("openapi")) as started:
        yield started


@pytest.fixture(scope="module")
def rows(live: Live, request: pytest.FixtureRequest) -> list[RoleAnswers]:
    found = list(request_all(live, Scope(examples=4)))
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        request.config.get_terminal_writer().line(f"\n{table(found)}")
    return found


def test_thousands_of_requests_are_answered_as_documented(rows: list[RoleAnswers], live: Live) -> None:
    broken = [(each.service, each.role.value, *told) for each in rows for told in each.answers.failures.items()]
    assert broken == []
    assert live.breakdowns() == []
    assert sum(each.answers.requests for each in rows) >= REQUESTS
    assert {each.service for each in rows} == set(ASKERS)
    assert [(each.service, status) for each in rows for status in each.answers.by_status() if status >= 500] == []


def test_every_operation_admits_a_role_and_finds_its_object(rows: list[RoleAnswers]) -> None:
    reached: dict[tuple[str, str], set[int]] = {}
    for each in rows:
        for operation, statuses in each.answers.operations().items():
            reached.setdefault((each.service, operation), set()).update(statuses)
    assert {operation for operation, statuses in reached.items() if statuses <= SHUT} == set()
    found = {operation for operation, statuses in reached.items() if statuses & {200, 201, 202, 204, 409}}
    assert reached.keys() - found == set()

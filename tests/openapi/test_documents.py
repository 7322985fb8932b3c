"""The four services keep what their OpenAPI documents promise, whatever they are sent."""

from collections.abc import Iterator

import pytest

from tests.e2e.live import Live, live_suite
from tests.openapi.asking import ASKERS, NO_LIMITS, Asked, all_asked, table
from tests.openapi.hostile import Scope

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(900)]
REQUESTS = 5_000
"""Of the quarter of an hour's worth that `make hostile` asks."""


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    """A suite that takes everything that comes, and at its end has met nothing unexpected."""
    with live_suite(tmp_path_factory.mktemp("openapi") / ".aex", environment=NO_LIMITS) as started:
        yield started


@pytest.fixture(scope="module")
def rows(live: Live, request: pytest.FixtureRequest) -> list[Asked]:
    """What each role was answered by each service."""
    found = list(all_asked(live, Scope(examples=8)))
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        request.config.get_terminal_writer().line(f"\n{table(found)}")
    return found


def test_no_answer_breaks_a_promise(rows: list[Asked], live: Live) -> None:
    broken = [(each.service, each.role.value, *told) for each in rows for told in each.answers.failures.items()]
    assert broken == []
    assert live.breakdowns() == []


def test_thousands_of_requests_were_answered(rows: list[Asked]) -> None:
    assert sum(each.answers.requests for each in rows) >= REQUESTS
    assert {each.service for each in rows} == set(ASKERS)


def test_no_answer_is_a_failure_of_the_service(rows: list[Asked]) -> None:
    assert [(each.service, status) for each in rows for status in each.answers.by_status() if status >= 500] == []


def test_every_operation_let_somebody_in(rows: list[Asked]) -> None:
    places = {(each.service, operation) for each in rows for operation in each.answers.operations()}
    let_in = {
        (each.service, operation)
        for each in rows
        for operation in each.answers.operations().keys() - each.answers.shut()
    }
    assert places - let_in == set()


def test_every_operation_found_its_object(rows: list[Asked]) -> None:
    """More than 404 and refusals: what was made before is met."""
    reached: dict[tuple[str, str], set[int]] = {}
    for each in rows:
        for operation, statuses in each.answers.operations().items():
            reached.setdefault((each.service, operation), set()).update(statuses)
    found = {place for place, statuses in reached.items() if statuses & {200, 201, 202, 204, 409}}
    assert reached.keys() - found == set()

import pytest

from aex_models.audiences import Audience
from aex_models.work import WorkStatus
from aex_runtime.identity.principals import Principal
from aex_work_publisher.rules.records import may_see, visible_sets
from tests.services.work_publisher.samples import ACME, BOT, OTHER_BOT, RIVAL, given, record

EVERY_STATUS = list(WorkStatus)


@pytest.mark.parametrize("status", EVERY_STATUS)
def test_a_consumer_sees_its_own_works_in_every_state(status: WorkStatus) -> None:
    assert may_see(record(status), ACME)
    assert not may_see(record(status), RIVAL)


@pytest.mark.parametrize("status", EVERY_STATUS)
def test_agent_sees_open_works_of_others_only(status: WorkStatus) -> None:
    assert may_see(record(status), BOT) is (status is WorkStatus.OPEN)


@pytest.mark.parametrize("status", [WorkStatus.AWARDED, WorkStatus.COMPLETED, WorkStatus.CANCELLED])
def test_an_awarded_work_stays_visible_to_its_agent_alone(status: WorkStatus) -> None:
    assert may_see(given(status), BOT)
    assert not may_see(given(status), OTHER_BOT)


def test_colleague_of_a_consumer_sees_none_of_its_works() -> None:
    assert not may_see(record(), Principal("colleague", Audience.CONSUMER, "acme-org"))


@pytest.mark.parametrize("role", [Audience.FINANCE, Audience.OPERATOR, Audience.SERVICE])
def test_other_roles_see_no_works(role: Audience) -> None:
    reader = Principal("acme", role)
    assert not may_see(record(), reader)
    assert visible_sets(reader, None) == ()


@pytest.mark.parametrize("status", [None, *EVERY_STATUS])
def test_a_consumer_lists_its_own(status: WorkStatus | None) -> None:
    (only,) = visible_sets(ACME, status)
    assert only == {"consumer_id": "acme"} | ({"status": status.value} if status else {})


def test_an_agent_lists_what_is_open_and_what_is_its_own() -> None:
    assert visible_sets(BOT, None) == ({"status": "open"}, {"agent_id": "bot"})
    assert visible_sets(BOT, WorkStatus.OPEN) == ({"status": "open"},)
    assert visible_sets(BOT, WorkStatus.COMPLETED) == ({"agent_id": "bot", "status": "completed"},)
    assert visible_sets(BOT, WorkStatus.CHECKING) == ({"agent_id": "bot", "status": "checking"},)

import pytest

from aex_models.audiences import Audience
from aex_models.work import WorkStatus
from aex_runtime.identity.principals import Principal
from aex_work_publisher.rules.records import may_see, visible_index_filters
from tests.services.work_publisher.samples import ACME, BOT, OTHER_BOT, RIVAL, given, record


@pytest.mark.parametrize("status", WorkStatus)
def test_work_is_visible_to_its_consumer_and_agent_and_to_all_agents_while_open(status: WorkStatus) -> None:
    assert may_see(record(status), ACME)
    assert may_see(record(status), BOT) is (status is WorkStatus.OPEN)
    colleague = Principal("colleague", Audience.CONSUMER, "acme-org")
    assert not any(may_see(record(status), reader) for reader in (RIVAL, colleague))
    if status in {WorkStatus.AWARDED, WorkStatus.COMPLETED, WorkStatus.CANCELLED}:
        assert may_see(given(status), BOT)
        assert not may_see(given(status), OTHER_BOT)
        assert not may_see(given(status), Principal("bot", Audience.CONSUMER)), "a consumer of the agent's name"


@pytest.mark.parametrize("role", [Audience.FINANCE, Audience.OPERATOR, Audience.SERVICE])
def test_other_roles_see_no_works(role: Audience) -> None:
    reader = Principal("acme", role)
    assert not may_see(record(), reader)
    assert visible_index_filters(reader, None) == ()


def test_a_consumer_lists_its_own() -> None:
    assert visible_index_filters(ACME, None) == ({"consumer_id": "acme"},)
    assert visible_index_filters(ACME, WorkStatus.CHECKING) == ({"consumer_id": "acme", "status": "checking"},)


def test_an_agent_lists_what_is_open_and_what_is_its_own() -> None:
    assert visible_index_filters(BOT, None) == ({"status": "open"}, {"agent_id": "bot"})
    assert visible_index_filters(BOT, WorkStatus.OPEN) == ({"status": "open"},)
    assert visible_index_filters(BOT, WorkStatus.COMPLETED) == ({"agent_id": "bot", "status": "completed"},)
    assert visible_index_filters(BOT, WorkStatus.CHECKING) == ({"agent_id": "bot", "status": "checking"},)

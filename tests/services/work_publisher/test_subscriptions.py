from typing import Any

import pytest

from aex_models.audiences import project_event
from aex_models.events import TOPICS, Event, OutcomeVerified, UnreadableEvent, subscriptions_of
from aex_models.work import WorkStatus
from aex_runtime.handlers import Poison, RetryLater
from aex_work_publisher.subscriptions import subscriptions
from tests.libs.models.test_audiences import record as outcome
from tests.services.work_publisher.kit import Shop, open_shop
from tests.services.work_publisher.samples import CONTRACT_ID, NOW, WORK_ID, given, record

OUTCOME = outcome().model_copy(update={"work_id": WORK_ID, "contract_id": CONTRACT_ID})
ENDS: dict[str, dict[str, Any]] = {
    "outcome.verified": project_event(OutcomeVerified(outcome=OUTCOME)),
    "contract.cancelled": {"work_id": WORK_ID, "contract_id": CONTRACT_ID},
}
CHECKED: dict[str, Any] = {"work_id": WORK_ID, "ok": True}
PROBLEM = {"path": "/evaluation/custom_metrics/0", "code": "too_slow", "message": "took too long"}
WARNING = {"path": "/evaluation/reference", "code": "reference_fails_criteria", "message": "m", "suggestion": "s"}


@pytest.fixture
def shop() -> Shop:
    return open_shop()


async def deliver(shop: Shop, event_type: str, data: dict[str, Any]) -> None:
    event = Event(id="evt_1", type=event_type, source="/aex/verification", subject=CONTRACT_ID, time=NOW, data=data)
    await subscriptions(shop.deps)[event_type](event)


async def status(shop: Shop) -> WorkStatus:
    return (await shop.kept(WORK_ID)).status


def test_every_subscription_has_a_handler() -> None:
    handled = subscriptions(open_shop().deps)
    assert set(handled) == set(subscriptions_of("work-publisher")) <= set(TOPICS)


async def test_an_outcome_completes_the_work(shop: Shop) -> None:
    await shop.keep(given())
    for _ in range(2):
        await deliver(shop, "outcome.verified", ENDS["outcome.verified"])
        assert await status(shop) is WorkStatus.COMPLETED


async def test_a_cancelled_contract_cancels_the_work(shop: Shop) -> None:
    await shop.keep(given())
    for _ in range(2):
        await deliver(shop, "contract.cancelled", ENDS["contract.cancelled"])
        assert await status(shop) is WorkStatus.CANCELLED


async def test_a_checked_work_opens_once(shop: Shop) -> None:
    await shop.keep(record(WorkStatus.CHECKING))
    await deliver(shop, "work.checked", CHECKED)
    await deliver(shop, "work.checked", {**CHECKED, "ok": False})
    assert await status(shop) is WorkStatus.OPEN


async def test_a_work_that_fails_its_check_is_refused_and_remembers_why(shop: Shop) -> None:
    await shop.keep(record(WorkStatus.CHECKING))
    await deliver(shop, "work.checked", {**CHECKED, "ok": False, "problems": [PROBLEM], "warnings": [WARNING]})
    await deliver(shop, "work.checked", CHECKED)
    kept = await shop.kept(WORK_ID)
    assert kept.status is WorkStatus.REFUSED
    assert kept.check is not None
    assert kept.check.model_dump(mode="json") == {"problems": [PROBLEM], "warnings": [WARNING]}


@pytest.mark.parametrize("now", [WorkStatus.OPEN, WorkStatus.AWARDED])
async def test_warnings_about_a_work_that_was_open_before_are_kept_and_move_nothing(
    shop: Shop, now: WorkStatus
) -> None:
    await shop.keep(record(now))
    await deliver(shop, "work.checked", {**CHECKED, "warnings": [WARNING]})
    kept = await shop.kept(WORK_ID)
    assert kept.status is now
    assert kept.check is not None
    assert [each.code for each in kept.check.warnings] == [WARNING["code"]]


@pytest.mark.parametrize("now", [WorkStatus.CANCELLED, WorkStatus.AWARDED, WorkStatus.COMPLETED])
async def test_a_check_that_comes_late_changes_nothing(shop: Shop, now: WorkStatus) -> None:
    await shop.keep(record(now))
    await deliver(shop, "work.checked", CHECKED)
    assert await status(shop) is now


@pytest.mark.parametrize(("event_type", "data"), [*ENDS.items(), ("work.checked", CHECKED)])
async def test_an_event_about_a_work_that_is_not_here_yet_waits(
    shop: Shop, event_type: str, data: dict[str, Any]
) -> None:
    with pytest.raises(RetryLater):
        await deliver(shop, event_type, data)


@pytest.mark.parametrize("event_type", ENDS)
async def test_an_end_that_overtakes_its_award_waits(shop: Shop, event_type: str) -> None:
    await shop.keep(record())
    with pytest.raises(RetryLater):
        await deliver(shop, event_type, ENDS[event_type])
    assert await status(shop) is WorkStatus.OPEN


async def test_the_end_of_another_contract_never_fits(shop: Shop) -> None:
    await shop.keep(given())
    with pytest.raises(Poison):
        await deliver(shop, "contract.cancelled", {"work_id": WORK_ID, "contract_id": f"ctr_{'1' * 32}"})
    assert await status(shop) is WorkStatus.AWARDED


@pytest.mark.parametrize("event_type", [*ENDS, "work.checked"])
async def test_an_unreadable_event_never_fits_and_is_not_quoted(shop: Shop, event_type: str) -> None:
    with pytest.raises(UnreadableEvent) as refused:
        await deliver(shop, event_type, {"work_id": ["canary"]})
    assert "canary" not in str(refused.value)

from typing import Any

import pytest

from aex_models.audiences import project_event_data
from aex_models.events import TOPICS, Event, OutcomeVerified, UnreadableEvent, find_subscribed_topics
from aex_models.work import WorkStatus
from aex_runtime.records import Poison, RetryLater
from aex_work_publisher.rules.records import WorkRecord
from aex_work_publisher.subscriptions import subscriptions
from tests.libs.models.test_audiences import record as outcome
from tests.services.work_publisher.kit import Shop, open_shop
from tests.services.work_publisher.samples import CONTRACT_ID, NOW, WORK_ID, given, record

OUTCOME = outcome().model_copy(update={"work_id": WORK_ID, "contract_id": CONTRACT_ID})
ENDS: dict[str, dict[str, Any]] = {
    "outcome.verified": project_event_data(OutcomeVerified(outcome=OUTCOME)),
    "contract.cancelled": {"work_id": WORK_ID, "contract_id": CONTRACT_ID},
}
CHECKED: dict[str, Any] = {"work_id": WORK_ID, "ok": True}
PROBLEM = {"path": "/evaluation/custom_metrics/0", "code": "too_slow", "message": "took too long"}
WARNING = {"path": "/evaluation/reference", "code": "reference_fails_criteria", "message": "m", "suggestion": "s"}


async def deliver(shop: Shop, event_type: str, data: dict[str, Any]) -> None:
    event = Event(id="evt_1", type=event_type, source="/aex/verification", subject=CONTRACT_ID, time=NOW, data=data)
    await subscriptions(shop.deps)[event_type](event)


async def status(shop: Shop) -> WorkStatus:
    return (await shop.kept(WORK_ID)).status


def test_every_subscription_has_a_handler() -> None:
    handled = subscriptions(open_shop().deps)
    assert set(handled) == set(find_subscribed_topics("work-publisher")) <= set(TOPICS)


@pytest.mark.parametrize(
    ("event_type", "data", "before", "after"),
    [
        ("outcome.verified", ENDS["outcome.verified"], given(), WorkStatus.COMPLETED),
        ("contract.cancelled", ENDS["contract.cancelled"], given(), WorkStatus.CANCELLED),
        ("work.checked", CHECKED, record(WorkStatus.CHECKING), WorkStatus.OPEN),
    ],
)
async def test_event_moves_the_work_once(
    shop: Shop, event_type: str, data: dict[str, Any], before: WorkRecord, after: WorkStatus
) -> None:
    await shop.keep(before)
    for repeated in (data, data, {**CHECKED, "ok": False} if event_type == "work.checked" else data):
        await deliver(shop, event_type, repeated)
        assert await status(shop) is after


async def test_failed_check_refuses_the_work_with_its_findings(shop: Shop) -> None:
    await shop.keep(record(WorkStatus.CHECKING))
    await deliver(shop, "work.checked", {**CHECKED, "ok": False, "problems": [PROBLEM], "warnings": [WARNING]})
    await deliver(shop, "work.checked", CHECKED)
    kept = await shop.kept(WORK_ID)
    assert kept.status is WorkStatus.REFUSED
    assert kept.check is not None
    assert kept.check.model_dump(mode="json") == {"problems": [PROBLEM], "warnings": [WARNING]}


@pytest.mark.parametrize("now", [WorkStatus.OPEN, WorkStatus.AWARDED])
async def test_warnings_about_an_open_work_are_stored(shop: Shop, now: WorkStatus) -> None:
    await shop.keep(record(now))
    await deliver(shop, "work.checked", {**CHECKED, "warnings": [WARNING]})
    kept = await shop.kept(WORK_ID)
    assert kept.status is now
    assert kept.check is not None
    assert [each.code for each in kept.check.warnings] == [WARNING["code"]]


@pytest.mark.parametrize("now", [WorkStatus.CANCELLED, WorkStatus.AWARDED, WorkStatus.COMPLETED])
async def test_late_check_changes_nothing(shop: Shop, now: WorkStatus) -> None:
    await shop.keep(record(now))
    await deliver(shop, "work.checked", CHECKED)
    assert await status(shop) is now


@pytest.mark.parametrize(("event_type", "data"), [*ENDS.items(), ("work.checked", CHECKED)])
async def test_event_about_a_missing_work_is_retried_later(shop: Shop, event_type: str, data: dict[str, Any]) -> None:
    with pytest.raises(RetryLater):
        await deliver(shop, event_type, data)


@pytest.mark.parametrize("event_type", ENDS)
async def test_end_before_the_award_is_retried_later(shop: Shop, event_type: str) -> None:
    await shop.keep(record())
    with pytest.raises(RetryLater):
        await deliver(shop, event_type, ENDS[event_type])
    assert await status(shop) is WorkStatus.OPEN


async def test_end_of_another_contract_is_poison(shop: Shop) -> None:
    await shop.keep(given())
    with pytest.raises(Poison):
        await deliver(shop, "contract.cancelled", {"work_id": WORK_ID, "contract_id": f"ctr_{'1' * 32}"})
    assert await status(shop) is WorkStatus.AWARDED


@pytest.mark.parametrize("event_type", [*ENDS, "work.checked"])
async def test_unreadable_event_is_refused_without_a_quote(shop: Shop, event_type: str) -> None:
    with pytest.raises(UnreadableEvent) as refused:
        await deliver(shop, event_type, {"work_id": ["canary"]})
    assert "canary" not in str(refused.value)

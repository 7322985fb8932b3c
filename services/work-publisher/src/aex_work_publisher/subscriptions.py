"""Events in: what work-publisher does with each of its subscriptions."""

from collections.abc import Mapping
from typing import TypeVar

from aex_models.events import ContractCancelled, Event, OutcomeVerified, UnreadableEvent, WorkChecked, read_data
from aex_models.frozen import Frozen
from aex_runtime.handlers import EventHandler, Poison
from aex_work_publisher.deps import Deps
from aex_work_publisher.handlers.move_work import close_work, complete_work, record_check

D = TypeVar("D", bound=Frozen)


def subscriptions(deps: Deps) -> Mapping[str, EventHandler]:
    """A handler for each topic that work-publisher subscribes to (`aex_models.events.TOPICS`)."""

    async def work_checked(event: Event) -> None:
        data = _read(event, WorkChecked)
        await record_check(deps, data.work_id, data.ok)

    async def outcome_verified(event: Event) -> None:
        outcome = _read(event, OutcomeVerified).outcome
        await complete_work(deps, outcome.work_id, outcome.contract_id)

    async def contract_cancelled(event: Event) -> None:
        data = _read(event, ContractCancelled)
        await close_work(deps, data.work_id, data.contract_id)

    return {
        "work.checked": work_checked,
        "outcome.verified": outcome_verified,
        "contract.cancelled": contract_cancelled,
    }


def _read(event: Event, model: type[D]) -> D:
    try:
        return read_data(event, model)
    except UnreadableEvent as error:
        raise Poison(str(error)) from None

"""Events in: what work-publisher does with each of its subscriptions."""

from collections.abc import Mapping

from aex_models.events import ContractCancelled, Event, OutcomeVerified, WorkChecked, parse_event_data
from aex_runtime.records import EventHandler
from aex_work_publisher.deps import Deps
from aex_work_publisher.handlers.apply_events import close_work, complete_work, record_check


def subscriptions(deps: Deps) -> Mapping[str, EventHandler]:
    """Return a handler for each topic that work-publisher subscribes to (`aex_models.events.TOPICS`)."""

    async def work_checked(event: Event) -> None:
        await record_check(deps, parse_event_data(event, WorkChecked))

    async def outcome_verified(event: Event) -> None:
        outcome = parse_event_data(event, OutcomeVerified).outcome
        await complete_work(deps, outcome.work_id, outcome.contract_id)

    async def contract_cancelled(event: Event) -> None:
        data = parse_event_data(event, ContractCancelled)
        await close_work(deps, data.work_id, data.contract_id)

    return {
        "work.checked": work_checked,
        "outcome.verified": outcome_verified,
        "contract.cancelled": contract_cancelled,
    }

"""Handlers of the events that work-publisher subscribes to."""

from collections.abc import Mapping

from aex_models.events import ContractCancelled, Event, OutcomeVerified, WorkChecked, parse_event_data
from aex_runtime.records import EventHandler
from aex_work_publisher.deps import Deps
from aex_work_publisher.handlers.apply_events import cancel_awarded_work, complete_work, open_or_refuse_work


def subscriptions(deps: Deps) -> Mapping[str, EventHandler]:
    """Return the handler of each subscribed topic, by topic (`aex_models.events.TOPICS`)."""

    async def work_checked(event: Event) -> None:
        await open_or_refuse_work(deps, parse_event_data(event, WorkChecked))

    async def outcome_verified(event: Event) -> None:
        outcome = parse_event_data(event, OutcomeVerified).outcome
        await complete_work(deps, outcome.work_id, outcome.contract_id)

    async def contract_cancelled(event: Event) -> None:
        data = parse_event_data(event, ContractCancelled)
        await cancel_awarded_work(deps, data.work_id, data.contract_id)

    return {
        "work.checked": work_checked,
        "outcome.verified": outcome_verified,
        "contract.cancelled": contract_cancelled,
    }

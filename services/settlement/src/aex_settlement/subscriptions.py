"""Handlers of the events that settlement subscribes to."""

from collections.abc import Mapping

from aex_models.events import Event, OutcomeVerified, parse_event_data
from aex_runtime.records import EventHandler
from aex_settlement.deps import Deps
from aex_settlement.handlers.post_transactions import settle_outcome


def subscriptions(deps: Deps) -> Mapping[str, EventHandler]:
    """Return the handler of each subscribed topic, by topic (`aex_models.events.TOPICS`)."""

    async def on_outcome_verified(event: Event) -> None:
        await settle_outcome(deps, parse_event_data(event, OutcomeVerified).outcome)

    return {"outcome.verified": on_outcome_verified}

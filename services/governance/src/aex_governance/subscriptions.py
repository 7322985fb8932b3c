"""Handlers of the events that governance subscribes to."""

from collections.abc import Mapping

from aex_governance.deps import Deps
from aex_governance.handlers.decide_hold import open_hold
from aex_governance.handlers.history import append_outcome_to_log_and_projections
from aex_models.events import Event, OutcomeHeld, OutcomeVerified, parse_event_data
from aex_runtime.records import EventHandler


def subscriptions(deps: Deps) -> Mapping[str, EventHandler]:
    """Return the handler of each subscribed topic, by topic."""

    async def outcome_held(event: Event) -> None:
        await open_hold(deps, parse_event_data(event, OutcomeHeld))

    async def outcome_verified(event: Event) -> None:
        await append_outcome_to_log_and_projections(deps, parse_event_data(event, OutcomeVerified))

    return {"outcome.held": outcome_held, "outcome.verified": outcome_verified}

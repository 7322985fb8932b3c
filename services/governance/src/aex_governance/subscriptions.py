"""Events in: the same handlers as the API's."""

from collections.abc import Mapping

from aex_governance.deps import Deps
from aex_governance.handlers.holds import open_hold
from aex_governance.handlers.log_outcome import log_outcome
from aex_models.events import Event, OutcomeHeld, OutcomeVerified, read_data
from aex_runtime.handlers import EventHandler


def subscriptions(deps: Deps) -> Mapping[str, EventHandler]:
    """A handler for each topic that governance subscribes to."""

    async def outcome_held(event: Event) -> None:
        await open_hold(deps, read_data(event, OutcomeHeld))

    async def outcome_verified(event: Event) -> None:
        await log_outcome(deps, read_data(event, OutcomeVerified))

    return {"outcome.held": outcome_held, "outcome.verified": outcome_verified}

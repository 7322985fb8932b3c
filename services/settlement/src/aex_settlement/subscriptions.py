"""Events in: what settlement does with each of its subscriptions."""

from collections.abc import Mapping

from aex_models.events import Event, OutcomeVerified, read_data
from aex_runtime.handlers import EventHandler
from aex_settlement.deps import Deps
from aex_settlement.handlers.settle_outcome import settle_outcome


def subscriptions(deps: Deps) -> Mapping[str, EventHandler]:
    """The handler of each topic that settlement subscribes to (`aex_models.events.TOPICS`)."""

    async def on_outcome_verified(event: Event) -> None:
        await settle_outcome(deps, read_data(event, OutcomeVerified).outcome)

    return {"outcome.verified": on_outcome_verified}

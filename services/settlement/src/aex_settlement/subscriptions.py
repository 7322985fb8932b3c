"""Events in: what settlement does with each of its subscriptions."""

from collections.abc import Mapping

from pydantic import ValidationError

from aex_models.events import Event, OutcomeVerified
from aex_runtime.handlers import EventHandler, Poison
from aex_settlement.deps import Deps
from aex_settlement.handlers.settle_outcome import settle_outcome


def subscriptions(deps: Deps) -> Mapping[str, EventHandler]:
    """The handler of each topic that settlement subscribes to (`aex_models.events.TOPICS`)."""

    async def on_outcome_verified(event: Event) -> None:
        await settle_outcome(deps, _outcome_verified(event).outcome)

    return {"outcome.verified": on_outcome_verified}


def _outcome_verified(event: Event) -> OutcomeVerified:
    """The event's data. Raises `Poison`, naming fields and never values: they may be evaluation data."""
    try:
        return OutcomeVerified.model_validate(event.data)
    except ValidationError as error:
        fields = sorted({".".join(str(part) for part in each["loc"]) for each in error.errors(include_input=False)})
        raise Poison(f"unreadable_event: {', '.join(fields[:10])}") from None

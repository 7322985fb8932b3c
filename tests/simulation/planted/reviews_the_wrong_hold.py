"""Verification looks whether a contract is held, not whether on the attempt that the operator has decided about."""

from typing import TYPE_CHECKING

from aex_models.contract import ContractStatus
from aex_models.events import Event
from aex_runtime.store.keys import key_of
from aex_verification.repository import CONTRACTS
from tests.simulation.planted.plant import Handlers, Plant

if TYPE_CHECKING:
    from tests.simulation.services import Service


def _any_hold(service: "Service", handlers: Handlers) -> Handlers:
    if service.name != "verification":
        return handlers

    async def outcome_reviewed(event: Event) -> None:
        stored = await CONTRACTS.get(service.store, key_of(event.subject))
        if stored is not None and stored.record.state.status is ContractStatus.HELD:
            about = {**event.data, "attempt_id": stored.record.state.current_attempt}
            event = event.model_copy(update={"data": about})
        await handlers["outcome.reviewed"](event)

    return {**handlers, "outcome.reviewed": outcome_reviewed}


REVIEWS_THE_WRONG_HOLD = Plant(
    "reviews_the_wrong_hold", "what an operator decided of one hold is done to the next", handlers=_any_hold
)

"""A verification that failed half-way is undone by hand: the attempt that it had counted is given back."""

from typing import TYPE_CHECKING

from aex_models.events import Event
from aex_runtime.store.keys import key_of
from aex_runtime.unit_of_work import Unit
from aex_verification.repository import CONTRACTS
from tests.simulation.planted.plant import Handlers, Plant

if TYPE_CHECKING:
    from tests.simulation.services import Service


def _undoing(service: "Service", handlers: Handlers) -> Handlers:
    if service.name != "verification":
        return handlers

    async def output_submitted(event: Event) -> None:
        async def give_back(unit: Unit) -> None:
            stored = await unit.get(CONTRACTS, key_of(event.subject))
            if stored is None or stored.record.state.final or not stored.record.state.verification.attempts_used:
                return
            state = stored.record.state
            fewer = state.verification.model_copy(update={"attempts_used": state.verification.attempts_used - 1})
            row = stored.record.model_copy(update={"state": state.model_copy(update={"verification": fewer})})
            unit.update(CONTRACTS, stored, row)

        try:
            await handlers["output.submitted"](event)
        except Exception:
            await service.unit_of_work.run(give_back)
            raise

    return {**handlers, "output.submitted": output_submitted}


GIVES_AN_ATTEMPT_BACK = Plant(
    "gives_an_attempt_back", "after a failure an attempt that was counted is given back", handlers=_undoing
)

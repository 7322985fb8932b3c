"""An award that comes again is taken for a contract that ran out, and nobody looks whether it was cancelled."""

from typing import TYPE_CHECKING

from aex_models.contract import ContractStatus
from aex_models.events import Event
from aex_runtime.store.keys import key_of
from aex_runtime.unit_of_work import Unit
from aex_verification.handlers.finish import write_outcome
from aex_verification.repository import AWARDS, CONTRACTS, OUTCOMES
from tests.simulation.planted.plant import Handlers, Plant

if TYPE_CHECKING:
    from tests.simulation.services import Service


def _careless(service: "Service", handlers: Handlers) -> Handlers:
    if service.name != "verification":
        return handlers

    async def contract_awarded(event: Event) -> None:
        async def settle(unit: Unit) -> None:
            stored = await unit.get(CONTRACTS, key_of(event.subject))
            awarded = await unit.get(AWARDS, key_of(event.subject))
            outcome = await unit.get(OUTCOMES, key_of(event.subject))
            if stored is None or awarded is None or outcome is not None:
                return
            if stored.record.state.status is ContractStatus.CANCELLED:
                ended = stored.record.state.model_copy(update={"status": ContractStatus.EXPIRED})
                await write_outcome(unit, awarded.record, ended, None, None)

        await handlers["contract.awarded"](event)
        await service.unit_of_work.run(settle)

    return {**handlers, "contract.awarded": contract_awarded}


SETTLES_WHAT_IS_CANCELLED = Plant(
    "settles_what_is_cancelled", "a cancelled contract is settled as one that ran out", handlers=_careless
)

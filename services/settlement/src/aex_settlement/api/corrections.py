"""Corrections: a settlement taken back and, where finance says so, booked anew."""

from fastapi import APIRouter, Response

from aex_models.corrections import ReversalRequest
from aex_settlement.api.parameters import ContractId, Finance, Json, Once, shown
from aex_settlement.deps import Deps
from aex_settlement.handlers.read_settlements import read_settlement
from aex_settlement.handlers.reverse_settlement import reverse_settlement


def correction_routes(router: APIRouter, deps: Deps) -> None:
    """`/settlements/{contract_id}/reversals`."""

    @router.post("/settlements/{contract_id}/reversals", status_code=201)
    async def post_reversal(
        finance: Finance, contract_id: ContractId, body: ReversalRequest, once: Once, response: Response
    ) -> Json:
        """Take the revision that stands back, and book `replacement` as the next one where it is given.

        Both are booked now; nothing is edited. Each revision is reversed at most once.
        """
        effect = await reverse_settlement(deps, contract_id, body, finance.id, once)
        response.headers.update(effect.headers)
        return shown(await read_settlement(deps, finance, effect.resource_id), finance)

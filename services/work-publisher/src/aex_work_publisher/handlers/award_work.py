"""A consumer gives its work to the agent of its choice."""

from aex_models.contract import AwardRequest
from aex_runtime.http.idempotency import Effect, IdempotentRequest, run_idempotent
from aex_runtime.identity.principal import Principal
from aex_runtime.unit_of_work import Unit
from aex_work_publisher.deps import Deps
from aex_work_publisher.handlers.give_work import give_work, log_award
from aex_work_publisher.handlers.read_work import visible
from aex_work_publisher.repository import read_work
from aex_work_publisher.rules.transitions import check_price


async def award_work(
    deps: Deps, consumer: Principal, work_id: str, wanted: AwardRequest, request: IdempotentRequest
) -> Effect:
    """Award an open work at a rate within its budget; the effect names the contract.

    Raises `NotFound`, `InvalidRequest` for a rate above `max_cpc`, `Conflict` where the work is not open.
    """
    contract_id = deps.ids.new("ctr")

    async def award(unit: Unit) -> str:
        seen = visible(await read_work(unit, work_id), consumer)
        check_price(seen.record, wanted.cpc_rate)
        return give_work(deps, unit, seen, contract_id, wanted.agent_id, wanted.cpc_rate)

    effect = await run_idempotent(deps.unit_of_work, request, award)
    log_award(effect, work_id, wanted.agent_id)
    return effect

"""An agent takes a work whose consumer allows claims."""

from aex_runtime.http.idempotency import Effect, IdempotentRequest, run_idempotent
from aex_runtime.identity.principal import Principal
from aex_runtime.unit_of_work import Unit
from aex_work_publisher.deps import Deps
from aex_work_publisher.handlers.give_work import give_work, log_award
from aex_work_publisher.handlers.read_work import present, visible
from aex_work_publisher.repository import find_work, read_work
from aex_work_publisher.rules.transitions import check_claimable


async def claim_work(deps: Deps, agent: Principal, work_id: str, request: IdempotentRequest) -> Effect:
    """Award an open work to the agent that asks, at its budget's `max_cpc`; the effect names the contract.

    Raises `NotFound`, `Forbidden` where the consumer allows no claims, `Conflict` where the work is not open.
    """
    contract_id = deps.ids.new("ctr")
    # Whoever saw the work open when it asked, and lost the race for it, is told so: 409, not 404.
    check_claimable(visible(await find_work(deps.store, work_id), agent).record)

    async def claim(unit: Unit) -> str:
        seen = present(await read_work(unit, work_id))
        return give_work(deps, unit, seen, contract_id, agent.id, seen.record.work.budget.max_cpc)

    effect = await run_idempotent(deps.unit_of_work, request, claim)
    log_award(effect, work_id, agent.id)
    return effect

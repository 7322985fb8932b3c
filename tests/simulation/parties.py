"""What consumers, agents and operators do: each is a step of a world."""

from typing import TYPE_CHECKING, Any

from aex_governance.handlers.holds import decide_hold
from aex_governance.repository.holds import HOLDS
from aex_models.audiences import Audience
from aex_models.contract import AwardRequest, ContractStatus
from aex_models.governance import Decision, HoldDecision, Party
from aex_runtime.errors import DomainError
from aex_runtime.http.idempotency import IdempotentRequest
from aex_runtime.identity.principal import Principal
from aex_verification.handlers.close import cancel_contract, finalise_contract
from aex_verification.handlers.submit_output import submit_output
from aex_verification.repository import CONTRACTS
from aex_work_publisher.handlers.award_work import award_work
from aex_work_publisher.handlers.check_work import Body
from aex_work_publisher.handlers.submit_work import submit_work
from tests.simulation.faults import Crash
from tests.simulation.services import Service
from tests.simulation.wishes import Deal, Offer, random_candidate, random_work

if TYPE_CHECKING:
    from tests.simulation.world import World

CONSUMERS = ("acme", "bolt", "carl")
AGENTS = ("bot", "carl", "dex")  # carl deals with himself now and then


async def publish_and_award(world: "World") -> None:
    """A consumer publishes a work and awards it."""
    consumer = Principal(world.dice.choice(CONSUMERS), Audience.CONSUMER)
    deps, service = world.suite.publisher_deps, world.suite.publisher
    wanted = random_work(world.dice, world.shares)
    body = Body(wanted, size=1_000)
    published = await _until_done(world, service, lambda key: submit_work(deps, consumer, body, key))
    if published is None:
        return
    effect, answer = published
    metrics = wanted["evaluation"]["custom_metrics"] if "evaluation" in wanted else []
    least, most = str(answer.quote.minimum.total), str(answer.quote.maximum.total)
    code, verifier = metrics[0]["code"] if metrics else None, wanted["verification"]["verifier"]
    offer = Offer(effect.resource_id, consumer, wanted["budget"]["max_cpc"], least, most, code, verifier)
    if code is not None:
        world.offers.append(offer)
    await _award(world, offer)


async def award_a_checked_work(world: "World") -> None:
    """A consumer tries to award a work with custom code, whether or not that was tried already."""
    dealt = {deal.work_id for deal in world.deals}
    waiting = [offer for offer in world.offers if offer.work_id not in dealt]
    if waiting:
        await _award(world, world.dice.choice(waiting))


async def _award(world: "World", offer: Offer) -> None:
    agent = world.dice.choice(AGENTS)
    request = AwardRequest(agent_id=agent, cpc_rate=offer.cpc_rate)
    deps = world.suite.publisher_deps
    awarded = await _until_done(
        world, world.suite.publisher, lambda key: award_work(deps, offer.consumer, offer.work_id, request, key)
    )
    if awarded is not None:
        consumer = offer.consumer.id
        world.deals.append(
            Deal(awarded.resource_id, offer.work_id, consumer, agent, offer.least, offer.most, offer.verifier)
        )


async def post_candidate(world: "World") -> None:
    """An agent posts."""
    if not world.deals:
        return
    deal, deps = world.dice.choice(world.deals), world.suite.verification_deps
    candidate, agent = random_candidate(world.dice), Party(id=deal.agent)
    await _until_done(
        world, world.suite.verification, lambda key: submit_output(deps, agent, deal.contract_id, candidate, key)
    )


async def close_somehow(world: "World") -> None:
    """An agent finalises, a consumer cancels, or neither may."""
    if not world.deals:
        return
    deal, deps, service = world.dice.choice(world.deals), world.suite.verification_deps, world.suite.verification
    if world.dice.random() < 0.5:
        awaiting = await _awaiting_revision(world)
        deal = world.dice.choice(awaiting) if awaiting else deal
        await _until_done(world, service, lambda key: finalise_contract(deps, deal.agent, deal.contract_id, key))
    else:
        await _until_done(world, service, lambda key: cancel_contract(deps, deal.consumer, deal.contract_id, key))


async def _awaiting_revision(world: "World") -> list[Deal]:
    """Those that an agent may settle early."""
    equal = {"status": ContractStatus.AWAITING_REVISION.value}
    found = await CONTRACTS.find(world.suite.verification.store, equal, "created_at", "desc")
    open_ids = {each.record.contract_id for each in found}
    return [deal for deal in world.deals if deal.contract_id in open_ids]


async def decide_a_hold(world: "World") -> None:
    """An operator decides the latest hold, one way or another."""
    for hold_id in (await waiting_holds(world))[:1]:
        await _decide(world, hold_id, world.dice.choice(list(Decision)))


async def release_all_holds(world: "World") -> None:
    """An operator who lets everything through."""
    for hold_id in await waiting_holds(world):
        await _decide(world, hold_id, Decision.RELEASE)


async def waiting_holds(world: "World") -> list[str]:
    """Holds that nobody has decided yet, the latest first."""
    found = await HOLDS.find(world.suite.governance.store, {"status": "waiting"}, "held_at", "desc")
    return [each.record.hold_id for each in found]


async def _decide(world: "World", hold_id: str, decision: Decision) -> None:
    chosen, deps = HoldDecision(decision=decision, reason="looked at it"), world.suite.governance_deps
    await _until_done(world, world.suite.governance, lambda key: decide_hold(deps, "olga", hold_id, chosen, key))


async def _until_done(world: "World", service: Service, call: Any) -> Any:
    """Call with one idempotency key until it is answered: what a careful client does."""
    world.keys += 1
    key = IdempotentRequest("simulator", f"key-{world.keys}", "same-body")
    for _ in range(50):
        try:
            return await call(key)
        except Crash:
            service.restart()
        except DomainError as refusal:
            world.trace.append(refusal.code)
            return None
    raise AssertionError("fifty crashes in a row")

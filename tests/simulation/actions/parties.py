"""What consumers, agents and operators do: each is a step of a world."""

from typing import TYPE_CHECKING

from aex_models.audiences import Audience
from aex_models.contract import AwardRequest, Candidate, ContractStatus
from aex_models.governance import Party
from aex_models.work import WorkAnswer
from aex_runtime.identity.principal import Principal
from aex_verification.handlers.artifacts import uploads_of as artifacts_of
from aex_verification.handlers.close import cancel_contract, finalise_contract
from aex_verification.handlers.submit_output import submit_output
from aex_verification.rules.records import ContractRow
from aex_work_publisher.handlers.award_work import award_work
from aex_work_publisher.handlers.cancel_work import cancel_work
from aex_work_publisher.handlers.check_work import Body
from aex_work_publisher.handlers.claim_work import claim_work
from aex_work_publisher.handlers.submit_work import submit_work
from aex_work_publisher.handlers.uploaded_data import uploads_of as data_of
from tests.simulation.actions.asking import until_answered
from tests.simulation.actions.science import file_of, random_science, uploaded
from tests.simulation.actions.wishes import Deal, Offer, random_candidate, random_work

if TYPE_CHECKING:
    from tests.simulation.world import World

CONSUMERS = ("acme", "bolt", "carl")
AGENTS = ("bot", "carl", "dex")  # carl deals with himself now and then


async def publish_and_award(world: "World") -> None:
    """A consumer publishes a work and awards it."""
    consumer = Principal(world.dice.choice(CONSUMERS), Audience.CONSUMER)
    deps, service = world.suite.publisher_deps, world.suite.publisher
    wanted = random_work(world.dice, world.shares)
    if world.dice.random() < world.shares.science:
        digest = await uploaded(world, service, data_of(deps), consumer) if world.dice.random() < 0.5 else None
        wanted["science"] = random_science(world.dice, digest)
    body = Body(wanted, size=1_000)
    published = await until_answered(world, service, "submit_work", lambda key: submit_work(deps, consumer, body, key))
    if published is None:
        return
    effect, answer = published
    assert isinstance(answer, WorkAnswer), "a work that was taken has a quote"
    metrics = wanted["evaluation"]["custom_metrics"] if "evaluation" in wanted else []
    least, most = str(answer.quote.minimum.total), str(answer.quote.maximum.total)
    code, verifier = metrics[0]["code"] if metrics else None, wanted["verification"]["verifier"]
    offer = Offer(
        effect.resource_id, consumer, wanted["budget"]["max_cpc"], least, most, code, verifier, "science" in wanted
    )
    if code is not None or wanted["allow_claims"]:
        world.offers.append(offer)
    if not wanted["allow_claims"]:
        await _award(world, offer)


async def award_a_checked_work(world: "World") -> None:
    """A consumer tries to award a work with custom code, whether or not that was tried already."""
    waiting = _not_dealt(world)
    if waiting:
        await _award(world, world.dice.choice(waiting))


async def claim_a_work(world: "World") -> None:
    """An agent takes a work for itself, where its consumer allows that and nobody was there before."""
    waiting = _not_dealt(world)
    if not waiting:
        return
    offer, deps = world.dice.choice(waiting), world.suite.publisher_deps
    agent = Principal(world.dice.choice(AGENTS), Audience.AGENT)
    claimed = await until_answered(
        world, world.suite.publisher, "give_work", lambda key: claim_work(deps, agent, offer.work_id, key)
    )
    if claimed is not None:
        world.deals.append(offer.dealt(claimed.resource_id, agent.id))


async def call_off_a_work(world: "World") -> None:
    """A consumer calls a work off that nobody has, or that somebody took at this very moment."""
    if not world.offers:
        return
    offer, deps = world.dice.choice(world.offers), world.suite.publisher_deps
    await until_answered(
        world,
        world.suite.publisher,
        "cancel_work",
        lambda key: cancel_work(deps, offer.consumer, offer.work_id, key),
    )


def _not_dealt(world: "World") -> list[Offer]:
    dealt = {deal.work_id for deal in world.deals}
    return [offer for offer in world.offers if offer.work_id not in dealt]


async def _award(world: "World", offer: Offer) -> None:
    agent = world.dice.choice(AGENTS)
    request = AwardRequest(agent_id=agent, cpc_rate=offer.cpc_rate)
    deps = world.suite.publisher_deps
    awarded = await until_answered(
        world,
        world.suite.publisher,
        "give_work",
        lambda key: award_work(deps, offer.consumer, offer.work_id, request, key),
    )
    if awarded is not None:
        world.deals.append(offer.dealt(awarded.resource_id, agent))


async def post_candidate(world: "World") -> None:
    """An agent posts."""
    if not world.deals:
        return
    deal, deps = _worth_it(world), world.suite.verification_deps
    posted, agent = world.seen.posted.setdefault(deal.contract_id, []), Party(id=deal.agent)
    again = posted and world.dice.random() < 0.2
    candidate = world.dice.choice(posted) if again else await _new_candidate(world, deal)
    posted.append(candidate)
    await until_answered(
        world,
        world.suite.verification,
        "submit_output",
        lambda key: submit_output(deps, agent, deal.contract_id, candidate, key),
    )


async def _new_candidate(world: "World", deal: Deal) -> Candidate:
    """For a work with science mostly one that claims something, perhaps with a file."""
    digest = None
    if deal.science and world.dice.random() < 0.5:
        agent, service = Principal(deal.agent, Audience.AGENT), world.suite.verification
        digest = await uploaded(world, service, artifacts_of(world.suite.verification_deps), agent)
    return random_candidate(world.dice, *([file_of(digest)] if digest else []), claims=deal.science)


def _worth_it(world: "World") -> Deal:
    """Mostly a contract that still takes candidates, as far as anybody can tell."""
    known = world.seen.contracts
    takes = [deal for deal in world.deals if _takes(known.get(deal.contract_id))]
    return world.dice.choice(takes if takes and world.dice.random() < 0.9 else world.deals)


def _takes(row: ContractRow | None) -> bool:
    return row is None or row.state.status in {ContractStatus.AWARDED, ContractStatus.AWAITING_REVISION}


async def close_somehow(world: "World") -> None:
    """An agent finalises, a consumer cancels, or neither may."""
    if not world.deals:
        return
    deal, deps, service = world.dice.choice(world.deals), world.suite.verification_deps, world.suite.verification
    if world.dice.random() < 0.5:
        awaiting = _awaiting_revision(world)
        deal = world.dice.choice(awaiting) if awaiting else deal
        await until_answered(
            world, service, "finalise", lambda key: finalise_contract(deps, deal.agent, deal.contract_id, key)
        )
    else:
        await until_answered(
            world, service, "cancel", lambda key: cancel_contract(deps, deal.consumer, deal.contract_id, key)
        )


def _awaiting_revision(world: "World") -> list[Deal]:
    """Those that an agent may settle early."""
    rows = [world.seen.contracts.get(deal.contract_id) for deal in world.deals]
    awaits = [row is not None and row.state.status is ContractStatus.AWAITING_REVISION for row in rows]
    return [deal for deal, is_awaited in zip(world.deals, awaits, strict=True) if is_awaited]

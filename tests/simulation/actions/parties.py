"""Actions of consumers, agents and operators, each a step of a world."""

from typing import TYPE_CHECKING

from aex_models.audiences import Audience
from aex_models.contract import AwardRequest, Candidate, ContractStatus
from aex_models.governance import Party
from aex_models.work import WorkAnswer
from aex_runtime.identity.principals import Principal
from aex_verification.handlers.artifacts import make_upload_store as artifacts_of
from aex_verification.handlers.close import cancel_contract, decline_contract, finalise_contract
from aex_verification.handlers.submit_output import submit_output
from aex_verification.rules.records import ContractRow
from aex_work_publisher.handlers.award_work import award_work, cancel_work, claim_work
from aex_work_publisher.handlers.submit_work import Body, submit_work
from aex_work_publisher.handlers.submit_work import make_upload_store as data_of
from tests.simulation.actions.random_works import ExpectedContract, OpenWork, random_candidate, random_work
from tests.simulation.actions.requests import retry_until_answered
from tests.simulation.actions.science import make_file_reference, random_science, upload_file

if TYPE_CHECKING:
    from tests.simulation.world import World

CONSUMERS = ("acme", "bolt", "carl")
AGENTS = ("bot", "carl", "dex")  # carl is consumer and agent: he may award a work to himself


async def publish_and_award(world: "World") -> None:
    """Publish a random work and award it, as its consumer does."""
    consumer = Principal(world.dice.choice(CONSUMERS), Audience.CONSUMER)
    deps, service = world.suite.publisher_deps, world.suite.publisher
    expected = random_work(world.dice, world.shares)
    if world.dice.random() < world.shares.science:
        digest = await upload_file(world, service, data_of(deps), consumer) if world.dice.random() < 0.5 else None
        expected["science"] = random_science(world.dice, digest)
    body = Body(expected, size=1_000)
    published = await retry_until_answered(
        world, service, "submit_work", lambda key: submit_work(deps, consumer, body, key)
    )
    if published is None:
        return
    effect, answer = published
    assert isinstance(answer, WorkAnswer), "a work that was taken has a quote"
    metrics = expected["evaluation"]["custom_metrics"] if "evaluation" in expected else []
    least, most = str(answer.quote.minimum.total), str(answer.quote.maximum.total)
    code, verifier = metrics[0]["code"] if metrics else None, expected["verification"]["verifier"]
    open_work = OpenWork(
        effect.resource_id, consumer, expected["budget"]["max_cpc"], least, most, code, verifier, "science" in expected
    )
    if code is not None or expected["allow_claims"]:
        world.open_works.append(open_work)
    if not expected["allow_claims"]:
        await _award(world, open_work)


async def award_a_checked_work(world: "World") -> None:
    """Try to award a work with custom code, whether or not its dry run has ended."""
    waiting = _works_without_contract(world)
    if waiting:
        await _award(world, world.dice.choice(waiting))


async def claim_a_work(world: "World") -> None:
    """Claim an open work that allows claims."""
    waiting = _works_without_contract(world)
    if not waiting:
        return
    open_work, deps = world.dice.choice(waiting), world.suite.publisher_deps
    agent = Principal(world.dice.choice(AGENTS), Audience.AGENT)
    claimed = await retry_until_answered(
        world, world.suite.publisher, "give_work", lambda key: claim_work(deps, agent, open_work.work_id, key)
    )
    if claimed is not None:
        world.expected_contracts.append(open_work.contract_with(claimed.resource_id, agent.id))


async def cancel_a_work(world: "World") -> None:
    """Cancel a work that is open, or awarded at this moment."""
    if not world.open_works:
        return
    open_work, deps = world.dice.choice(world.open_works), world.suite.publisher_deps
    await retry_until_answered(
        world,
        world.suite.publisher,
        "cancel_work",
        lambda key: cancel_work(deps, open_work.consumer, open_work.work_id, key),
    )


def _works_without_contract(world: "World") -> list[OpenWork]:
    awarded = {contract.work_id for contract in world.expected_contracts}
    return [open_work for open_work in world.open_works if open_work.work_id not in awarded]


async def _award(world: "World", open_work: OpenWork) -> None:
    agent = world.dice.choice(AGENTS)
    request = AwardRequest(agent_id=agent, cpc_rate=open_work.cpc_rate)
    deps = world.suite.publisher_deps
    awarded = await retry_until_answered(
        world,
        world.suite.publisher,
        "give_work",
        lambda key: award_work(deps, open_work.consumer, open_work.work_id, request, key),
    )
    if awarded is not None:
        world.expected_contracts.append(open_work.contract_with(awarded.resource_id, agent))


async def post_candidate(world: "World") -> None:
    """Post a random candidate to a contract, as its agent does."""
    if not world.expected_contracts:
        return
    contract, deps = _choose_contract(world), world.suite.verification_deps
    posted, agent = world.seen.posted.setdefault(contract.contract_id, []), Party(id=contract.agent)
    repeated = posted and world.dice.random() < 0.2
    candidate = world.dice.choice(posted) if repeated else await _new_candidate(world, contract)
    posted.append(candidate)
    await retry_until_answered(
        world,
        world.suite.verification,
        "submit_output",
        lambda key: submit_output(deps, agent, contract.contract_id, candidate, key),
    )


async def _new_candidate(world: "World", contract: ExpectedContract) -> Candidate:
    """Return a random candidate; for a work with science mostly with claims, and perhaps with a file."""
    digest = None
    if contract.science and world.dice.random() < 0.5:
        agent, service = Principal(contract.agent, Audience.AGENT), world.suite.verification
        digest = await upload_file(world, service, artifacts_of(world.suite.verification_deps), agent)
    return random_candidate(world.dice, *([make_file_reference(digest)] if digest else []), claims=contract.science)


def _choose_contract(world: "World") -> ExpectedContract:
    """Choose a contract, mostly one that may still accept candidates."""
    known = world.seen.contracts
    takes = [contract for contract in world.expected_contracts if _accepts_candidates(known.get(contract.contract_id))]
    return world.dice.choice(takes if takes and world.dice.random() < 0.9 else world.expected_contracts)


def _accepts_candidates(row: ContractRow | None) -> bool:
    return row is None or row.state.status in {ContractStatus.AWARDED, ContractStatus.AWAITING_REVISION}


async def finalise_or_cancel(world: "World") -> None:
    """Finalise, decline or cancel a contract, as its agent or consumer; it may be refused."""
    if not world.expected_contracts:
        return
    contract, deps, service = (
        world.dice.choice(world.expected_contracts),
        world.suite.verification_deps,
        world.suite.verification,
    )
    chosen = world.dice.random()
    if chosen < 0.5:
        awaiting = _awaiting_revision(world)
        contract = world.dice.choice(awaiting) if awaiting else contract
        await retry_until_answered(
            world, service, "finalise", lambda key: finalise_contract(deps, contract.agent, contract.contract_id, key)
        )
    elif chosen < 0.75:
        await retry_until_answered(
            world, service, "cancel", lambda key: cancel_contract(deps, contract.consumer, contract.contract_id, key)
        )
    else:
        await retry_until_answered(
            world, service, "decline", lambda key: decline_contract(deps, contract.agent, contract.contract_id, key)
        )


def _awaiting_revision(world: "World") -> list[ExpectedContract]:
    """Return the contracts that an agent may finalise."""
    rows = [world.seen.contracts.get(contract.contract_id) for contract in world.expected_contracts]
    awaits = [row is not None and row.state.status is ContractStatus.AWAITING_REVISION for row in rows]
    return [contract for contract, is_awaited in zip(world.expected_contracts, awaits, strict=True) if is_awaited]

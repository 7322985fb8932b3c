import asyncio

import pytest

from aex_models.audiences import project_event
from aex_models.contract import AwardRequest
from aex_models.events import ContractAwarded, read_data
from aex_models.work import WorkStatus
from aex_runtime.errors import Conflict, Forbidden, InvalidRequest, NotFound
from aex_work_publisher.handlers.award_work import award_work
from aex_work_publisher.handlers.cancel_work import cancel_work
from aex_work_publisher.handlers.claim_work import claim_work
from aex_work_publisher.handlers.read_work import get_award, get_awarded_contract
from tests.services.work_publisher.kit import NO_KEY, Shop, keyed, open_shop
from tests.services.work_publisher.samples import ACME, BOT, OTHER_BOT, REF, RIVAL, WORK_ID, given, record


@pytest.fixture
def shop() -> Shop:
    return open_shop()


def wanted(cpc_rate: str = "0.75", agent_id: str = "bot") -> AwardRequest:
    return AwardRequest.model_validate({"agent_id": agent_id, "cpc_rate": cpc_rate})


async def test_an_award_moves_the_work_and_tells_verification(shop: Shop) -> None:
    await shop.keep(record())
    effect = await award_work(shop.deps, ACME, WORK_ID, wanted(), NO_KEY)
    work = await shop.kept(WORK_ID)
    assert (work.status, work.agent_id, work.contract_id) == (WorkStatus.AWARDED, "bot", effect.resource_id)
    (event,) = shop.events
    assert (event.type, event.subject) == ("contract.awarded", effect.resource_id)
    told = read_data(event, ContractAwarded)
    assert told.award == await get_award(shop.deps, ACME, effect.resource_id)
    assert told.evaluation == REF
    assert told.work.evaluation is None
    assert str(told.terms.fee_rate) == "0.05"


async def test_a_service_reads_what_the_event_carried_even_after_the_work_has_ended(shop: Shop) -> None:
    await shop.keep(record())
    effect = await award_work(shop.deps, ACME, WORK_ID, wanted(), NO_KEY)
    awarded, _ = await get_awarded_contract(shop.deps, effect.resource_id)
    assert project_event(awarded) == shop.events[0].data


async def test_an_award_names_a_work_of_the_consumer_s_own(shop: Shop) -> None:
    await shop.keep(record())
    for work_id in (WORK_ID, f"work_{'1' * 32}"):
        with pytest.raises(NotFound):
            await award_work(shop.deps, RIVAL, work_id, wanted(), NO_KEY)


async def test_an_award_above_the_budget_is_refused(shop: Shop) -> None:
    await shop.keep(record())
    with pytest.raises(InvalidRequest, match="cpc_rate_above_max"):
        await award_work(shop.deps, ACME, WORK_ID, wanted("1.000001"), NO_KEY)
    assert shop.events == []


@pytest.mark.parametrize("status", [each for each in WorkStatus if each is not WorkStatus.OPEN])
async def test_only_an_open_work_is_awarded(shop: Shop, status: WorkStatus) -> None:
    await shop.keep(record(status))
    with pytest.raises(Conflict):
        await award_work(shop.deps, ACME, WORK_ID, wanted(), NO_KEY)


async def test_of_racing_awards_one_wins_and_the_others_conflict(shop: Shop) -> None:
    await shop.keep(record())
    awards = [award_work(shop.deps, ACME, WORK_ID, wanted(agent_id=f"bot-{n}"), NO_KEY) for n in range(5)]
    ended = await asyncio.gather(*awards, return_exceptions=True)
    assert sorted(type(each).__name__ for each in ended) == ["Conflict"] * 4 + ["Effect"]
    assert len(shop.events) == 1


async def test_an_award_repeated_with_its_key_is_the_same_award(shop: Shop) -> None:
    await shop.keep(record())
    first = await award_work(shop.deps, ACME, WORK_ID, wanted(), keyed("k"))
    again = await award_work(shop.deps, ACME, WORK_ID, wanted(), keyed("k"))
    assert (again.resource_id, again.replayed) == (first.resource_id, True)
    assert len(shop.events) == 1


async def test_a_claim_is_an_award_at_the_highest_rate(shop: Shop) -> None:
    await shop.keep(record())
    effect = await claim_work(shop.deps, BOT, WORK_ID, NO_KEY)
    award = await get_award(shop.deps, BOT, effect.resource_id)
    assert (award.agent_id, str(award.cpc_rate)) == ("bot", "1.00")
    assert (award.consumer.id, award.consumer.org) == ("acme", "acme-org")


async def test_of_racing_claims_one_wins_and_the_others_conflict(shop: Shop) -> None:
    await shop.keep(record())
    claims = [claim_work(shop.deps, agent, WORK_ID, NO_KEY) for agent in (BOT, OTHER_BOT, BOT)]
    ended = await asyncio.gather(*claims, return_exceptions=True)
    assert sorted(type(each).__name__ for each in ended) == ["Conflict", "Conflict", "Effect"]


async def test_a_claim_needs_the_consumer_s_leave(shop: Shop) -> None:
    await shop.keep(record(allow_claims=False))
    with pytest.raises(Forbidden):
        await claim_work(shop.deps, BOT, WORK_ID, NO_KEY)


async def test_a_work_that_another_agent_has_cannot_be_seen_to_be_claimed(shop: Shop) -> None:
    await shop.keep(given())
    with pytest.raises(NotFound):
        await claim_work(shop.deps, OTHER_BOT, WORK_ID, NO_KEY)
    with pytest.raises(Conflict):
        await claim_work(shop.deps, BOT, WORK_ID, NO_KEY)


async def test_an_award_is_for_its_two_parties(shop: Shop) -> None:
    await shop.keep(record())
    effect = await award_work(shop.deps, ACME, WORK_ID, wanted(), NO_KEY)
    for stranger in (RIVAL, OTHER_BOT):
        with pytest.raises(NotFound):
            await get_award(shop.deps, stranger, effect.resource_id)


async def test_a_work_is_cancelled_before_its_award_and_no_later(shop: Shop) -> None:
    await shop.keep(record())
    for _ in range(2):
        await cancel_work(shop.deps, ACME, WORK_ID, NO_KEY)
        assert (await shop.kept(WORK_ID)).status is WorkStatus.CANCELLED
    with pytest.raises(Conflict):
        await award_work(shop.deps, ACME, WORK_ID, wanted(), NO_KEY)


async def test_an_awarded_work_is_not_cancelled(shop: Shop) -> None:
    await shop.keep(given())
    with pytest.raises(Conflict):
        await cancel_work(shop.deps, ACME, WORK_ID, NO_KEY)


async def test_nobody_cancels_another_s_work(shop: Shop) -> None:
    await shop.keep(record())
    with pytest.raises(NotFound):
        await cancel_work(shop.deps, RIVAL, WORK_ID, NO_KEY)


async def test_either_the_award_or_the_cancellation_wins(shop: Shop) -> None:
    await shop.keep(record())
    ended = await asyncio.gather(
        award_work(shop.deps, ACME, WORK_ID, wanted(), NO_KEY),
        cancel_work(shop.deps, ACME, WORK_ID, NO_KEY),
        return_exceptions=True,
    )
    assert sorted(type(each).__name__ for each in ended) == ["Conflict", "Effect"]
    assert len(shop.events) == ((await shop.kept(WORK_ID)).status is WorkStatus.AWARDED)

import asyncio

import pytest

from aex_models.audiences import project_event_data
from aex_models.contract import AwardRequest
from aex_models.events import ContractAwarded, parse_event_data
from aex_models.work import WorkStatus
from aex_runtime.errors import NotFound
from aex_work_publisher.handlers.award_work import award_work, cancel_work, claim_work
from aex_work_publisher.handlers.read_work import get_award, get_award_event_and_trace
from tests.services.work_publisher.kit import NO_KEY, Shop
from tests.services.work_publisher.samples import ACME, BOT, OTHER_BOT, REF, RIVAL, WORK_ID, record


def expected(cpc_rate: str = "0.75", agent_id: str = "bot") -> AwardRequest:
    return AwardRequest.model_validate({"agent_id": agent_id, "cpc_rate": cpc_rate})


async def test_award_changes_the_work_and_emits_an_event(shop: Shop) -> None:
    await shop.keep(record())
    effect = await award_work(shop.deps, ACME, WORK_ID, expected(), NO_KEY)
    work = await shop.kept(WORK_ID)
    assert (work.status, work.agent_id, work.contract_id) == (WorkStatus.AWARDED, "bot", effect.resource_id)
    (event,) = shop.events
    assert (event.type, event.subject) == ("contract.awarded", effect.resource_id)
    printed = parse_event_data(event, ContractAwarded)
    assert printed.award == await get_award(shop.deps, ACME, effect.resource_id)
    assert printed.evaluation == REF
    assert printed.work.evaluation is None
    assert str(printed.terms.fee_rate) == "0.05"
    awarded, _ = await get_award_event_and_trace(shop.deps, effect.resource_id)
    assert project_event_data(awarded) == event.data
    for stranger in (RIVAL, OTHER_BOT):
        with pytest.raises(NotFound):
            await get_award(shop.deps, stranger, effect.resource_id)


async def test_one_of_concurrent_awards_succeeds(shop: Shop) -> None:
    await shop.keep(record())
    awards = [award_work(shop.deps, ACME, WORK_ID, expected(agent_id=f"bot-{n}"), NO_KEY) for n in range(5)]
    ended = await asyncio.gather(*awards, return_exceptions=True)
    assert sorted(type(each).__name__ for each in ended) == ["Conflict"] * 4 + ["Effect"]
    assert len(shop.events) == 1


async def test_one_of_concurrent_claims_succeeds(shop: Shop) -> None:
    await shop.keep(record())
    claims = [claim_work(shop.deps, agent, WORK_ID, NO_KEY) for agent in (BOT, OTHER_BOT, BOT)]
    ended = await asyncio.gather(*claims, return_exceptions=True)
    assert sorted(type(each).__name__ for each in ended) == ["Conflict", "Conflict", "Effect"]


async def test_one_of_award_and_cancellation_succeeds(shop: Shop) -> None:
    await shop.keep(record())
    ended = await asyncio.gather(
        award_work(shop.deps, ACME, WORK_ID, expected(), NO_KEY),
        cancel_work(shop.deps, ACME, WORK_ID, NO_KEY),
        return_exceptions=True,
    )
    assert sorted(type(each).__name__ for each in ended) == ["Conflict", "Effect"]
    assert len(shop.events) == ((await shop.kept(WORK_ID)).status is WorkStatus.AWARDED)
